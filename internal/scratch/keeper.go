// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package scratch reuses working memory from call to call.
package scratch // import "github.com/otelpprof/otelpprof/internal/scratch"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// Keeper keeps working memory from call to call, with the same policy everywhere in this repository:
//   - One object of at most keptBytes stays permanently. A [sync.Pool] alone would lose it with the second garbage
//     collection, and with a small heap that is soon.
//   - Other objects of at most pooledBytes are in a [sync.Pool].
//   - Of objects of at most largeBytes, one is used again, unless a garbage collection has freed it. Nobody counts it while its user waits for
//     memory, so there is only one.
//   - Larger objects are not kept.
//
// The zero value is ready for use. Safe for concurrent use.
type Keeper[T any] struct {
	kept atomic.Pointer[T]
	pool sync.Pool

	mu sync.Mutex
	// large is the large object, lent whether somebody uses it. A panic may drop it.
	large weak.Pointer[T]
	lent  bool
}

const (
	// keptBytes is small, so that idle heaps stay small: this memory is never freed.
	keptBytes = 64 << 10
	// pooledBytes limits pooled memory, which nobody counts while it is unused. A sync.Pool has as many objects as were in use at
	// once, until the second garbage collection. An ordinary request needs about as much in the smallest container.
	pooledBytes = 4 << 20
	// largeBytes limits what one request can hold for another.
	largeBytes = 48 << 20
)

// Get returns an object that was put back, or nil.
func (k *Keeper[T]) Get() *T {
	if kept := k.kept.Swap(nil); kept != nil {
		return kept
	}
	if large := k.getLarge(); large != nil {
		return large
	}
	pooled, _ := k.pool.Get().(*T)
	return pooled
}

// GetOrNew is [Keeper.Get], or else a new zero value.
func (k *Keeper[T]) GetOrNew() *T {
	if kept := k.Get(); kept != nil {
		return kept
	}
	return new(T)
}

func (k *Keeper[T]) getLarge() *T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lent {
		return nil
	}
	large := k.large.Value()
	k.lent = large != nil
	return large
}

// Put puts an object back. bytes is its whole memory, including unused capacity. The caller must not use the object afterwards.
func (k *Keeper[T]) Put(memory *T, bytes int) {
	k.putLarge(memory, bytes)
	if bytes > pooledBytes || bytes <= keptBytes && k.kept.CompareAndSwap(nil, memory) {
		return
	}
	k.pool.Put(memory)
}

// putLarge is Put for the object that is used again, or may be. Others stay as they are.
func (k *Keeper[T]) putLarge(memory *T, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.lent && bytes <= pooledBytes {
		return // The large object is not in use. To look at it would keep it from the garbage collection.
	}
	large := k.large.Value()
	if large == nil || large == memory {
		k.large, k.lent = weak.Pointer[T]{}, false
	}
	if !k.lent && bytes > pooledBytes && bytes <= largeBytes {
		k.large = weak.Make(memory)
	}
}

// Zeroed returns a slice of n zero values. It uses the memory of s if that is large enough, and overwrites its content.
func Zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// Store puts an entry into a map, which it makes for the first one.
func Store[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Bytes returns the capacity of s in bytes, without memory that its items point to.
func Bytes[T any](s []T) int {
	var item T
	return cap(s) * int(unsafe.Sizeof(item))
}
