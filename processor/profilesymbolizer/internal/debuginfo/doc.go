// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package debuginfo reads functions, inlined functions and lines from DWARF 2 to 5.
//
// It reads the sections once, from the first to the last byte, and keeps nothing of what it has read but what it adds to the index. A file
// can be hostile: each number is checked where it is used, and the work and the memory are counted.
package debuginfo // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
