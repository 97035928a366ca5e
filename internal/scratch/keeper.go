// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package scratch reuses working memory from call to call.
package scratch // import "github.com/otelpprof/otelpprof/internal/scratch"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Keeper keeps working memory from call to call, with the same policy everywhere in this repository:
//   - One object of at most keptBytes stays permanently. A [sync.Pool] alone would lose it with the second garbage
//     collection, and with a small heap that is soon.
//   - Other objects of at most pooledBytes are in a [sync.Pool].
//   - Larger objects are not kept.
//
// The zero value is ready for use. Safe for concurrent use.
type Keeper[T any] struct {
	kept atomic.Pointer[T]
	pool sync.Pool
}

const (
	// keptBytes is small, so that idle heaps stay small: this memory is never freed.
	keptBytes = 64 << 10
	// pooledBytes limits pooled memory, which nobody counts while it is unused. A sync.Pool holds about one object per processor until
	// the second garbage collection.
	pooledBytes = 48 << 20
)

// Get returns an object that was put back, or nil.
func (k *Keeper[T]) Get() *T {
	if kept := k.kept.Swap(nil); kept != nil {
		return kept
	}
	pooled, _ := k.pool.Get().(*T)
	return pooled
}

// Put puts an object back. bytes is its whole memory, including unused capacity. The caller must not use the object afterwards.
func (k *Keeper[T]) Put(memory *T, bytes int) {
	if bytes > pooledBytes || bytes <= keptBytes && k.kept.CompareAndSwap(nil, memory) {
		return
	}
	k.pool.Put(memory)
}

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
