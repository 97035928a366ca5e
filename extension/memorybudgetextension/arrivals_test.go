// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestOldestGoesFirst: where bytes are short, the requests that began first go, one after the other.
func TestOldestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(100)
		var gone []string
		begin := func(name string) *arrival {
			return a.begin(func() {
				gone = append(gone, name)
				time.AfterFunc(time.Millisecond, func() { a.change(-40) })
			})
		}
		first, second, third := begin("first"), begin("second"), begin("third")
		a.add(first, 40)
		a.add(second, 40)
		assert.Empty(t, gone)
		a.add(third, 40)
		assert.Equal(t, []string{"first"}, gone)
		a.add(third, 50)
		assert.Equal(t, []string{"first", "second"}, gone)
		assert.Equal(t, int64(90), a.bytes())
		assert.False(t, first.end())
		assert.True(t, third.end())
		assert.False(t, third.end())
	})
}

// TestNobodyWaitsForLong: who has no one to evict, or was evicted, goes on.
func TestNobodyWaitsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(100)
		evicted := false
		one := a.begin(func() { evicted = true })
		begin := time.Now()
		a.add(one, 101)
		assert.True(t, evicted)
		assert.Zero(t, time.Since(begin))
		a.add(nil, 1)
		assert.Equal(t, longestPause, time.Since(begin))
	})
}

func TestMostArriving(t *testing.T) {
	a, evicted := newArrivals(100), 0
	for range mostArriving + 3 {
		a.begin(func() { evicted++ })
	}
	assert.Equal(t, 3, evicted)
}
