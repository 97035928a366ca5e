// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory limits the memory of all requests of the process together. docs/memory.md has the promises and the mechanism.
package memory // import "github.com/otelpprof/otelpprof/internal/memory"
