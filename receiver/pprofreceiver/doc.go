// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofreceiver receives or fetches pprof profiles and passes them on as OTLP profiles.
//
// Each section of the configuration is a component of its own: server, remote, scrape, file and self. All of them add
// payloads to a batch, one for each request or fetch. The batch translates the payloads and passes them to the next
// consumer as one message; the intake is what all batches share.
//
// A push API of the server is one file with its type, and one line, the field of this type in [APIsConfig]. A format of
// payloads is one file with a payloadFormat, which the APIs that accept the format name in [payload].
package pprofreceiver // import "github.com/otelpprof/otelpprof/receiver/pprofreceiver"
