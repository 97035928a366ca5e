// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package memorybudgetextension limits the memory of the requests of all receivers together.
//
// For receivers of OTLP over HTTP and gRPC that are not of this repository, the extension is a server middleware, and it is the encoding of
// Kafka's records: docs/memory.md says how.
package memorybudgetextension // import "github.com/otelpprof/otelpprof/extension/memorybudgetextension"
