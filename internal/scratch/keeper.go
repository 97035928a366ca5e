// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"sync"
	"sync/atomic"
)

// Keeper keeps working memory from call to call. It is the one policy for that in this repository. One piece stays for
// good, if it is small: a [sync.Pool] alone loses all that it has to the second garbage collection, which is soon in a small
// heap. What is larger is pooled, what is largest is not kept. The zero value is ready for use, also by many goroutines at
// once.
type Keeper[T any] struct {
	kept atomic.Pointer[T]
	pool sync.Pool
}

const (
	// keptBytes is the size up to which memory stays for good. A heap that looks the same after each collection of
	// garbage is worth more than what larger pieces would save.
	keptBytes = 64 << 10
	// pooledBytes is the size above which memory is left to the garbage collector at once. Pooled memory is outside of any
	// budget while nobody uses it, one piece for each processor, until the second collection of garbage.
	pooledBytes = 48 << 20
)

// Get returns memory that was put back, or nil.
func (k *Keeper[T]) Get() *T {
	if kept := k.kept.Swap(nil); kept != nil {
		return kept
	}
	pooled, _ := k.pool.Get().(*T)
	return pooled
}

// Put takes memory back. bytes is all that it takes up, whether it was in use or not. The caller must not use it any more.
func (k *Keeper[T]) Put(memory *T, bytes int) {
	if bytes > pooledBytes || bytes <= keptBytes && k.kept.CompareAndSwap(nil, memory) {
		return
	}
	k.pool.Put(memory)
}
