// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package references resolves what the parts of one pprof refer to by id: samples to locations, locations to mappings
// and functions.
package references // import "github.com/otelpprof/otelpprof/internal/references"
