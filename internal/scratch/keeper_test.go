// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKeeperOutlivesCollections: what one caller puts back is there for its next call, however much garbage there was.
func TestKeeperOutlivesCollections(t *testing.T) {
	var keeper Keeper[[]byte]
	assert.Nil(t, keeper.Get())
	memory := new([]byte)
	for range 3 {
		keeper.Put(memory, keptBytes)
		runtime.GC()
		runtime.GC()
		assert.Same(t, memory, keeper.Get())
		assert.Nil(t, keeper.Get(), "nothing is handed out twice")
	}
}

// TestKeeperConcurrent: no two hold the same memory at the same time.
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
					t.Error("held by two")
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

// TestKeeperLetsGoOfLargeMemory: what is large does not stay for good, and what is larger not at all.
func TestKeeperLetsGoOfLargeMemory(t *testing.T) {
	var keeper Keeper[[]byte]
	keeper.Put(new([]byte), pooledBytes+1)
	assert.Nil(t, keeper.Get())
	keeper.Put(new([]byte), keptBytes+1)
	runtime.GC()
	runtime.GC()
	runtime.GC()
	assert.Nil(t, keeper.Get())
}
