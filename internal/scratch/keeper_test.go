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
		keeper.Put(memory)
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
				keeper.Put(m)
			}
		})
	}
	group.Wait()
}
