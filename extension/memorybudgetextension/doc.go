// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package memorybudgetextension limits the memory of the requests of all receivers together.
//
// The components of this repository reserve from its budget by themselves. For other receivers of OTLP over HTTP and gRPC the
// extension is a server middleware. It receives a request, computes how much memory the unmarshalled message needs, reserves
// that memory, and only then lets the receiver unmarshal the request.
package memorybudgetextension // import "github.com/otelpprof/otelpprof/extension/memorybudgetextension"
