// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persisttest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// sizes are the sizes of profiles: empty, one piece, exactly one piece or a little more, and more than a batch.
var sizes = []int{0, 1, 1000, pieceBytes - 100, pieceBytes, pieceBytes + 1, batchBytes + 1, 3*batchBytes + 77}

func TestRestart(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	require.NoError(t, r.err)
	for i, size := range sizes {
		require.True(t, r.store.Add(entry(service(i), size)))
	}
	require.True(t, r.store.Add(entry(service(2), 1000)), "the same upload")
	r.settle(t)
	entries, bytes, pending := r.Stored()
	assert.EqualValues(t, len(sizes), entries)
	assert.Zero(t, pending)
	assert.GreaterOrEqual(t, bytes, s.Bytes()-int64(len(slotsKey)+9))

	for range 2 {
		r = begin(t, s, nil)
		require.NoError(t, r.err)
		assert.Equal(t, len(sizes), r.restored)
		assert.Empty(t, r.dropped)
		for i, size := range sizes {
			r.assertHeld(t, service(i), size)
		}
		r.settle(t)
	}
	require.True(t, r.store.Add(entry(service(2), 1000)))
	profiles, _ := r.store.Held()
	assert.EqualValues(t, len(sizes), profiles, "equal uploads are one, also over a restart")

	// Removed entries are deleted, and their slots are used again.
	slots := r.slots.n
	one := func(_ *Settings, limits *recent.Limits) { limits.PerSeries = 1 }
	r = begin(t, s, one)
	for i, size := range sizes {
		e := entry(service(i), size)
		e.ID[1] = 1
		require.True(t, r.store.Add(e))
	}
	r.settle(t)
	r.settle(t)
	entries, _, _ = r.Stored()
	assert.EqualValues(t, len(sizes), entries)
	assert.LessOrEqual(t, r.slots.n, 2*slots)
	r = begin(t, s, nil)
	assert.Equal(t, len(sizes), r.restored)
	assert.Equal(t, [16]byte{1, 1}, r.selected(service(3))[0].ID)
}

// The order of arrival is kept, and the age counts from the arrival.
func TestAge(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, func(settings *Settings, limits *recent.Limits) { settings.Age, limits.Age = 0, 0 })
	for i := range 5 {
		require.True(t, r.store.Restore(entry(service(i), 10), time.Now().Add(time.Duration(i-4)*20*time.Minute)))
		for _, e := range r.selected(service(i)) {
			r.Added(e)
		}
	}
	r.settle(t)
	r = begin(t, s, nil)
	require.NoError(t, r.err)
	assert.Equal(t, map[Reason]int{ReasonAge: 2}, r.dropped, "of 80 and of 60 minutes")
	newest := r.store.Newest("tenant", recent.Bound{}, recent.Bound{}, 10)
	require.Len(t, newest, 3)
	for i, e := range newest {
		assert.Equal(t, service(4-i), e.Service)
		assert.WithinDuration(t, time.Now().Add(-time.Duration(i)*20*time.Minute), e.Arrived(), time.Minute)
	}
	r.settle(t)
	assert.Len(t, s.Keys(), 1+2*3, "old entries are deleted")
}

// Entries of a clock that was set back are at least as old as the next one.
func TestClockSetBack(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	require.True(t, r.store.Add(entry("a", 10)))
	require.True(t, r.store.Add(entry("b", 10)))
	r.settle(t)
	for key, value := range s.Values() {
		if strings.HasSuffix(key, headerKey(0)) {
			h, err := decodeHeader(value)
			require.NoError(t, err)
			h.arrived = time.Now().AddDate(1, 0, 0)
			s.Put(key, h.encode())
		}
	}
	r = begin(t, s, nil)
	require.NoError(t, r.err)
	assert.WithinDuration(t, r.selected("b")[0].Arrived(), r.selected("a")[0].Arrived(), time.Second)
	assert.Equal(t, "a", r.store.Newest("tenant", recent.Bound{}, recent.Bound{}, 10)[1].Service)
}

// The storage never has more than max_disk. The oldest entries are deleted first.
func TestDisk(t *testing.T) {
	const limit = 100_000
	s := persisttest.New()
	s.Before = func(o *storage.Operation) error {
		// A storage without transactions can briefly have the additional entries of one batch.
		if o.Type == storage.Get {
			assert.LessOrEqual(t, s.Bytes(), int64(limit+len(slotsKey)+9))
		}
		return nil
	}
	little := func(settings *Settings, _ *recent.Limits) { settings.Disk = limit }
	r := begin(t, s, little)
	for i := range 50 {
		require.True(t, r.store.Add(entry(service(i), 9000)))
		if i%7 == 0 {
			r.settle(t)
		}
	}
	require.True(t, r.store.Add(entry("huge", 2*limit)))
	r.settle(t)
	entries, bytes, _ := r.Stored()
	assert.EqualValues(t, 10, entries)
	assert.LessOrEqual(t, bytes, int64(limit))
	assert.LessOrEqual(t, s.Bytes(), int64(limit+len(slotsKey)+9))
	assert.Equal(t, map[Reason]int{ReasonDisk: 41}, r.dropped)
	profiles, _ := r.store.Held()
	assert.EqualValues(t, 51, profiles, "memory has its own limit")

	r = begin(t, s, little)
	require.NoError(t, r.err)
	for i := range 50 {
		assert.Equal(t, i >= 40, len(r.selected(service(i))) == 1, i)
	}
	r = begin(t, s, func(settings *Settings, _ *recent.Limits) { settings.Disk = limit / 2 })
	assert.Equal(t, map[Reason]int{ReasonDisk: 5}, r.dropped, "a smaller limit than before")
	assert.Len(t, r.selected(service(45)), 1)
	r.settle(t)
	assert.LessOrEqual(t, s.Bytes(), int64(limit/2+len(slotsKey)+9))
}

// With a smaller memory limit, the newest entries are restored, and entries above the limit are left out.
func TestLessMemory(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	for i := range 10 {
		require.True(t, r.store.Add(entry(service(i), 9000)))
	}
	require.True(t, r.store.Add(entry("huge", 60_000)))
	r.settle(t)
	r = begin(t, s, func(settings *Settings, limits *recent.Limits) { settings.Memory, limits.Memory = 50_000, 50_000 })
	require.ErrorIs(t, r.err, ErrTooLarge)
	assert.Equal(t, map[Reason]int{ReasonTooLarge: 1}, r.dropped)
	profiles, memory := r.store.Held()
	assert.EqualValues(t, 5, profiles)
	assert.LessOrEqual(t, memory, int64(50_000))
	assert.Len(t, r.selected(service(9)), 1)
	r.settle(t)
	entries, _, _ := r.Stored()
	assert.EqualValues(t, 5, entries, "entries that are not restored are deleted")
	assert.Len(t, s.Keys(), 1+2*5)
}

// A shutdown ends even if the storage does not answer.
func TestClose(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	for i := range 100 {
		require.True(t, r.store.Add(entry(service(i), 100)))
	}
	r.Start()
	require.NoError(t, r.Close(t.Context()))
	assert.Zero(t, s.Open())
	again := begin(t, s, nil)
	assert.Equal(t, 100, again.restored, "all was written")

	answer := make(chan struct{})
	s.Before = func(*storage.Operation) error { <-answer; return nil }
	require.True(t, again.store.Add(entry("more", 100)))
	again.Start()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, again.Close(ctx), context.DeadlineExceeded)
	close(answer)
	<-again.stopped
	require.Eventually(t, func() bool { return s.Open() == 0 }, time.Minute, time.Millisecond)
}
