// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestOldestIsEvictedFirst: above the limit, the oldest requests are evicted, one after the other.
func TestOldestIsEvictedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(100)
		var evicted []string
		begin := func(name string) *arrival {
			return a.begin(func() {
				evicted = append(evicted, name)
				time.AfterFunc(time.Millisecond, func() { a.adjust(-40) })
			})
		}
		first, second, third := begin("first"), begin("second"), begin("third")
		a.add(first, 40)
		a.add(second, 40)
		assert.Empty(t, evicted)
		a.add(third, 40)
		assert.Equal(t, []string{"first"}, evicted)
		a.add(third, 50)
		assert.Equal(t, []string{"first", "second"}, evicted)
		assert.Equal(t, int64(90), a.bytes())
		assert.False(t, first.end())
		assert.True(t, third.end())
		assert.False(t, third.end())
	})
}

// TestAddWaitsForLimitedTime: an evicted request does not wait, and others wait at most maxWait.
func TestAddWaitsForLimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(100)
		evicted := false
		request := a.begin(func() { evicted = true })
		begin := time.Now()
		a.add(request, 101)
		assert.True(t, evicted)
		assert.Zero(t, time.Since(begin))
		a.add(nil, 1)
		assert.Equal(t, maxWait, time.Since(begin))
	})
}

func TestMaxArriving(t *testing.T) {
	a, evicted := newArrivals(100), 0
	for range maxArriving + 3 {
		a.begin(func() { evicted++ })
	}
	assert.Equal(t, 3, evicted)
}
