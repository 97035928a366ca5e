// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package scratch reuses working memory from call to call.
package scratch // import "github.com/otelpprof/otelpprof/internal/scratch"

import (
	"slices"
	"unsafe"
)

// Zeroed returns a slice of n zero values. It uses the memory of s if that is large enough, and overwrites its content.
func Zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// Bytes returns the capacity of s in bytes, without memory that its items point to.
func Bytes[T any](s []T) int {
	var item T
	return cap(s) * int(unsafe.Sizeof(item))
}
