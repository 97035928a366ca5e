// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"sync"
	"sync/atomic"
)

// Keeper keeps working memory from call to call. One piece stays for good: a [sync.Pool] alone loses all that it has
// to the second garbage collection, which is soon when a call makes much of a small heap. What is used beside it at the
// same time is pooled. The zero value is ready for use, also by many goroutines at once.
type Keeper[T any] struct {
	kept atomic.Pointer[T]
	pool sync.Pool
}

// Get returns memory that was put back, or nil.
func (k *Keeper[T]) Get() *T {
	if kept := k.kept.Swap(nil); kept != nil {
		return kept
	}
	pooled, _ := k.pool.Get().(*T)
	return pooled
}

// Put takes memory back. The caller must not use it any more.
func (k *Keeper[T]) Put(memory *T) {
	if !k.kept.CompareAndSwap(nil, memory) {
		k.pool.Put(memory)
	}
}
