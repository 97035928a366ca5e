// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofreceiver takes pprof profiles and hands them on as OTLP profiles.
//
// The package is a shell around the translator: it moves payloads in, tells the translator where they are from, and
// turns what happened into answers and metrics. Its parts are an intake, which all ways in share, and one source for
// each way in: the server, remote, scrape, file and self. An API of the server is one file with one line in
// [server.newAPIs]; what a request or a fetch holds goes through one batch, and on as one message.
package pprofreceiver // import "github.com/otelpprof/otelpprof/receiver/pprofreceiver"
