// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds the built distribution against senders and receivers of other versions of pdata.
package interop // import "github.com/otelpprof/otelpprof/test/interop"
