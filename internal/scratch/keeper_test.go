// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKeeperSurvivesGC: a small object stays available after garbage collections.
func TestKeeperSurvivesGC(t *testing.T) {
	var keeper Keeper[[]byte]
	assert.Nil(t, keeper.Get())
	memory := new([]byte)
	for range 3 {
		keeper.Put(memory, keptBytes)
		runtime.GC()
		runtime.GC()
		assert.Same(t, memory, keeper.Get())
		assert.Nil(t, keeper.Get(), "no object is returned twice")
	}
}

// TestKeeperConcurrent: two goroutines never get the same object at the same time.
func TestKeeperConcurrent(t *testing.T) {
	type memory struct{ held bool }
	var keeper Keeper[memory]
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 1000 {
				m := keeper.Get()
				if m == nil {
					m = &memory{}
				}
				if m.held {
					t.Error("two goroutines have the same object")
					return
				}
				m.held = true
				runtime.Gosched()
				m.held = false
				keeper.Put(m, []int{0, keptBytes + 1, pooledBytes + 1}[i%3])
			}
		})
	}
	group.Wait()
}

// TestKeeperFreesLargeObjects: a pooled object survives one garbage collection, a larger one none. It is used again before.
func TestKeeperFreesLargeObjects(t *testing.T) {
	var keeper Keeper[[]byte]
	keeper.Put(new([]byte), keptBytes+1)
	runtime.GC()
	runtime.GC()
	runtime.GC()
	assert.Nil(t, keeper.Get())

	large := new([]byte)
	keeper.Put(large, pooledBytes+1)
	assert.Same(t, large, keeper.Get())
	assert.Nil(t, keeper.Get(), "no object is returned twice")
	var other Keeper[[]byte]
	var group sync.WaitGroup
	group.Go(func() { other.Put(new([]byte), pooledBytes+1) }) // It is on no stack afterwards.
	group.Wait()
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		runtime.GC()
	}()
	for done := false; !done; {
		select {
		case <-collected:
			done = true
		default:
			other.Put(new([]byte), pooledBytes) // It does not look at the large one, which the collector would keep then.
		}
	}
	assert.Nil(t, other.getLarge())
}

// TestKeeperLendsOne: while a large object is in use, no other is used again.
func TestKeeperLendsOne(t *testing.T) {
	var keeper Keeper[[]byte]
	first, second := new([]byte), new([]byte)
	keeper.Put(first, pooledBytes+1)
	assert.Same(t, first, keeper.Get())
	keeper.Put(second, pooledBytes+1)
	assert.Nil(t, keeper.Get())
	keeper.Put(first, pooledBytes+1)
	assert.Same(t, first, keeper.Get())
	keeper.Put(first, keptBytes)
	keeper.Put(second, pooledBytes+1)
	assert.Same(t, first, keeper.Get())
	assert.Same(t, second, keeper.Get())
	keeper.Put(second, largeBytes+1)
	assert.Nil(t, keeper.Get())
}

// TestKeeperDropped: if the user of the large object drops it, another one is used again.
func TestKeeperDropped(t *testing.T) {
	var keeper Keeper[[]byte]
	keeper.Put(new([]byte), pooledBytes+1)
	keeper.Get() // or nothing, if a garbage collection was faster
	runtime.GC()
	other := new([]byte)
	keeper.Put(other, pooledBytes+1)
	assert.Same(t, other, keeper.Get())
}

// TestKeeperHoldsNothingLarge: after many large objects were in use at once, one garbage collection frees them.
func TestKeeperHoldsNothingLarge(t *testing.T) {
	const objects, size = 16, 8 << 20
	var keeper Keeper[[]byte]
	before := heap()
	inUse := make([]*[]byte, objects)
	for i := range inUse {
		content := make([]byte, size)
		inUse[i] = &content
	}
	for i := range inUse {
		keeper.Put(inUse[i], size)
		inUse[i] = nil
	}
	assert.Less(t, heap()-before, int64(size))
	runtime.KeepAlive(&keeper)
}

// heap returns the bytes in use after a garbage collection.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) // #nosec G115 -- It is less than 1<<63.
}
