// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofreceiver receives or fetches profiles in pprof and other formats, and passes them on as OTLP profiles.
//
// Each section of the configuration is a component of its own: server, remote, scrape, file and self. They add payloads
// to a batch, one for each request or fetch. The batch translates the payloads and passes them to the next consumer as
// one message. All batches share the intake.
//
// The name of a file begins with what it belongs to: config_ has the options, api_ the push APIs, server_ the HTTP server that serves
// them, fetch_ the sections that fetch, format_ the payload formats, and intake_ what all payloads pass. refusal.go has the classes of
// errors with their answers.
//
// To add a push API, add a file with its read function, a row in server.newAPIs, and in config_server.go a field of [APIsConfig], its
// default and its paths. To add a payload format, add a file format_, and set it in the [payload] of the APIs that accept it.
package pprofreceiver // import "github.com/otelpprof/otelpprof/receiver/pprofreceiver"
