// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"sync"
	"sync/atomic"
)

// Keeper keeps working memory from call to call. One piece stays for good, unless it is large: a [sync.Pool] alone loses
// all that it has to the second garbage collection, which is soon when a call makes much of a small heap. What is used
// beside it at the same time is pooled. The zero value is ready for use, also by many goroutines at once.
type Keeper[T any] struct {
	kept atomic.Pointer[T]
	pool sync.Pool
}

const (
	// keptBytes is the size up to which memory stays for good.
	keptBytes = 32 << 20
	// pooledBytes is the size above which memory is left to the garbage collector at once.
	pooledBytes = 256 << 20
)

// Get returns memory that was put back, or nil.
func (k *Keeper[T]) Get() *T {
	if kept := k.kept.Swap(nil); kept != nil {
		return kept
	}
	pooled, _ := k.pool.Get().(*T)
	return pooled
}

// Put takes memory of about so many bytes back. The caller must not use it any more.
func (k *Keeper[T]) Put(memory *T, bytes int) {
	if bytes > pooledBytes || bytes <= keptBytes && k.kept.CompareAndSwap(nil, memory) {
		return
	}
	k.pool.Put(memory)
}
