// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package filtering runs the examples of docs/filtering.md with the built distribution, as they stand there.
package filtering // import "github.com/otelpprof/otelpprof/test/filtering"
