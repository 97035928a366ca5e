// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofreceiver takes pprof profiles and hands them on as OTLP profiles.
//
// The package is a shell around the translator: it moves payloads in, tells the translator where they are from, and
// turns what happened into answers and metrics. Its parts are an intake, which all ways in share, and one source for
// each way in; so far that is the HTTP server. An API of the server is one file with one line in [server.apis].
package pprofreceiver // import "github.com/otelpprof/otelpprof/receiver/pprofreceiver"
