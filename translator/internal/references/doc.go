// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package references resolves the ids in a pprof: those of locations in samples, and those of mappings and functions in
// locations.
package references // import "github.com/otelpprof/otelpprof/translator/internal/references"
