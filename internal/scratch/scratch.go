// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package scratch helps with working memory that is used again from call to call.
package scratch // import "github.com/otelpprof/otelpprof/internal/scratch"

import (
	"slices"
	"unsafe"
)

// Zeroed returns a slice of n zero values in the memory of s, if that is large enough. What s held is lost.
func Zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// Bytes returns the size of the memory of s, without what its items point to.
func Bytes[T any](s []T) int {
	var item T
	return cap(s) * int(unsafe.Sizeof(item))
}
