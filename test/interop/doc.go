// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds the built distribution against senders and receivers of other versions of pdata.
//
// The keys and strings of attributes come in all forms: v0.159 sends keys and their references into the dictionary, v0.162
// plain keys over gRPC and references over HTTP, and v0.165 references. OTELPPROF_BINARY names the binary; `make
// test-interop` builds it and sets that.
package interop // import "github.com/otelpprof/otelpprof/test/interop"
