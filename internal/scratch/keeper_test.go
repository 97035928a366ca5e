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
			for range 1000 {
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
				keeper.Put(m, 0)
			}
		})
	}
	group.Wait()
}

// TestKeeperFreesLargeObjects: a large object does not survive garbage collections, and a very large one is not kept at all.
func TestKeeperFreesLargeObjects(t *testing.T) {
	var keeper Keeper[[]byte]
	keeper.Put(new([]byte), pooledBytes+1)
	assert.Nil(t, keeper.Get())
	keeper.Put(new([]byte), keptBytes+1)
	runtime.GC()
	runtime.GC()
	runtime.GC()
	assert.Nil(t, keeper.Get())
}
