// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package memorybudgetextension bounds the memory that the requests of all receivers take together.
//
// It has the budget from which the components of this repository reserve, and is a middleware of the servers of others, for
// OTLP over HTTP and gRPC: a request is received, then counted, then reserved, then unmarshalled.
package memorybudgetextension // import "github.com/otelpprof/otelpprof/extension/memorybudgetextension"
