// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persisttest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// filled returns a storage with an entry of each size.
func filled(tb testing.TB, sizes ...int) *persisttest.Storage {
	tb.Helper()
	s := persisttest.New()
	r := begin(tb, s, nil)
	for i, size := range sizes {
		require.True(tb, r.store.Add(entry(service(i), size)))
	}
	r.settle(tb)
	return s
}

// If any value is damaged, at most one entry is lost, and the damaged keys are deleted.
func TestDamaged(t *testing.T) {
	few := []int{10, pieceBytes + 10, 20}
	for _, key := range filled(t, few...).Keys() {
		for name, damage := range map[string]func([]byte) []byte{
			"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			"cut":     func(b []byte) []byte { return b[:len(b)-1] },
			"longer":  func(b []byte) []byte { return append(b, 0) },
			"empty":   func([]byte) []byte { return []byte{} },
			"gone":    func([]byte) []byte { return nil },
		} {
			s := filled(t, few...)
			s.Put(key, damage(slices.Clone(s.Values()[key])))
			r := begin(t, s, nil)
			switch {
			case strings.HasSuffix(key, slotsKey):
				wantRestored := len(few)
				if name == "gone" {
					wantRestored = 0 // as in an empty storage
				}
				assert.Equal(t, wantRestored, r.restored, "%s %s", key, name)
			case name == "gone" && strings.Contains(key, "/held/h"):
				assert.NoError(t, r.err)
				assert.Equal(t, len(few)-1, r.restored, "%s %s", key, name)
			default:
				assert.ErrorIs(t, r.err, errDamaged, "%s %s", key, name)
				assert.Equal(t, len(few)-1, r.restored, "%s %s", key, name)
				assert.Equal(t, map[Reason]int{ReasonDamaged: 1}, r.dropped, "%s %s", key, name)
				r.settle(t)
				again := begin(t, s, nil)
				assert.NoError(t, again.err, "%s %s: it is deleted", key, name)
				assert.Equal(t, len(few)-1, again.restored)
			}
		}
	}
}

// A process that ends at any operation loses only entries that were not written yet, even if the storage has no transactions.
// It leaves no orphaned keys.
func TestKilled(t *testing.T) {
	writing := func(s *persisttest.Storage, operations int) (done int) {
		r := begin(t, s, func(_ *Settings, limits *recent.Limits) { limits.PerSeries = 1 })
		s.Before = func(*storage.Operation) error {
			if done++; operations >= 0 && done > operations {
				return errDisk
			}
			return nil
		}
		for i, size := range []int{30, batchBytes + pieceBytes, 40} {
			e := entry(service(i), size)
			e.ID[1] = 1
			require.True(t, r.store.Add(e))
		}
		for more := true; more; {
			var err error
			if more, err = r.round(); err != nil {
				break
			}
		}
		s.Before = nil
		return done
	}
	all := writing(filled(t, 10, 20), -1)
	require.Greater(t, all, 10)
	for operations := range all + 1 {
		s := filled(t, 10, 20)
		writing(s, operations)
		r := begin(t, s, nil)
		if !assert.NoError(t, r.err, operations) {
			continue
		}
		for i := range 2 {
			assert.LessOrEqual(t, len(r.selected(service(i))), 2, "the new one, or the old one until it is deleted")
		}
		for _, e := range r.store.Newest("tenant", recent.Bound{}, recent.Bound{}, 10) {
			want := entry(e.Service, len(e.Compressed))
			assert.True(t, bytes.Equal(want.Compressed, e.Compressed), "%d: %s", operations, e.Service)
		}
		r.settle(t)
		keys := 1
		for _, e := range r.store.Newest("tenant", recent.Bound{}, recent.Bound{}, 10) {
			keys += 1 + pieces(int64(len(describe(e))+len(e.Compressed)))
		}
		assert.Len(t, s.Keys(), keys, "%d: nothing is left behind", operations)
	}
}

// Entries of failed writes are written later.
func TestFailures(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	for i, size := range sizes {
		require.True(t, r.store.Add(entry(service(i), size)))
	}
	n := 0
	s.Before = func(*storage.Operation) error {
		if n++; n%11 == 0 {
			return errDisk
		}
		return nil
	}
	for failures := 0; r.unfinished(); {
		if _, err := r.round(); err != nil {
			require.ErrorIs(t, err, errDisk)
			failures++
			require.Less(t, failures, 100)
			if failures == 3 {
				s.Before = nil
			}
		}
	}
	s.Before = nil
	r = begin(t, s, nil)
	require.NoError(t, r.err)
	for i, size := range sizes {
		r.assertHeld(t, service(i), size)
	}
}

// reserveAllBut reserves a budget so that another reservation can have this many bytes.
func reserveAllBut(tb testing.TB, memory *memory.Budget, bytes int64) *memory.Reservation {
	tb.Helper()
	// An eighth of a budget is kept for smaller reservations.
	others, err := memory.Reserve(tb.Context(), memory.Size()*7/8-bytes)
	require.NoError(tb, err)
	return others
}

// If memory is exhausted when the headers are read, no entry is lost, and new ones are written beside them.
func TestExhaustedAtStart(t *testing.T) {
	for name, free := range map[string]int64{"before": leastReserved - 1, "at the first headers": leastReserved + 1000} {
		s := filled(t, 10, 20)
		budget := memory.New(16<<20, 0)
		others := reserveAllBut(t, budget, free)
		r := begin(t, s, func(settings *Settings, _ *recent.Limits) { settings.Budget = budget })
		require.ErrorIs(t, r.err, memory.ErrExhausted, name)
		assert.Zero(t, r.restored, name)
		others.Release()
		require.True(t, r.store.Add(entry("new", 30)))
		r.settle(t)

		r = begin(t, s, nil)
		require.NoError(t, r.err, name)
		assert.Equal(t, 3, r.restored, name)
		assert.Empty(t, r.dropped, name)
		r.assertHeld(t, service(0), 10)
		r.assertHeld(t, service(1), 20)
		r.assertHeld(t, "new", 30)
		assert.Len(t, s.Keys(), 1+3*2, name)
	}
}

// An entry for which there is no memory at a start stays in the storage: until it is too old, or the storage needs its space.
func TestExhaustedWhileReading(t *testing.T) {
	begins := func(s *persisttest.Storage) *run {
		budget := memory.New(16<<20, 0)
		defer reserveAllBut(t, budget, leastReserved+300_000).Release()
		r := begin(t, s, func(settings *Settings, _ *recent.Limits) { settings.Budget = budget })
		require.ErrorIs(t, r.err, memory.ErrExhausted)
		assert.Equal(t, 1, r.restored)
		assert.Empty(t, r.dropped)
		r.assertHeld(t, service(1), 20)
		entries, bytes, _ := r.Stored()
		assert.EqualValues(t, 2, entries)
		assert.Greater(t, bytes, int64(1<<20))
		return r
	}
	s := filled(t, 1<<20, 20)
	begins(s).settle(t)
	r := begin(t, s, nil)
	require.NoError(t, r.err)
	assert.Equal(t, 2, r.restored)
	r.assertHeld(t, service(0), 1<<20)

	r = begins(s)
	_, r.settings.Disk, _ = r.Stored()
	require.True(t, r.store.Add(entry("new", 30)))
	r.settle(t)
	r.settle(t)
	assert.Equal(t, map[Reason]int{ReasonDisk: 1}, r.dropped)
	assert.Len(t, s.Keys(), 1+2*2, "the oldest entry is deleted")

	s = filled(t, 1<<20, 20)
	r = begins(s)
	r.left[0].arrived = time.Now().Add(-2 * time.Hour)
	r.settle(t)
	assert.Len(t, s.Keys(), 1+2)
	_, bytes, _ := r.Stored()
	assert.Less(t, bytes, int64(pieceBytes))
}

// An entry that is in the storage but not in memory is deleted when it is too old, also if no other entry arrives.
func TestLeftEntryExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(t, 1<<20, 20)
		budget := memory.New(16<<20, 0)
		others := reserveAllBut(t, budget, leastReserved+300_000)
		r := begin(t, s, func(settings *Settings, _ *recent.Limits) { settings.Budget = budget })
		require.ErrorIs(t, r.err, memory.ErrExhausted)
		others.Release()
		r.Start()
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		assert.Greater(t, s.Bytes(), int64(1<<20))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, s.Keys(), 1+2, "the number of slots, and the other entry")
		require.NoError(t, r.Close(t.Context()))
	})
}

// A start waits for memory once, not for each entry.
func TestExhaustedWaitsOnce(t *testing.T) {
	s := filled(t, 1<<20, 20, 1<<20, 1<<20, 30)
	synctest.Test(t, func(t *testing.T) {
		budget := memory.New(16<<20, time.Minute)
		defer reserveAllBut(t, budget, leastReserved+300_000).Release()
		started := time.Now()
		r := begin(t, s, func(settings *Settings, _ *recent.Limits) { settings.Budget = budget })
		require.ErrorIs(t, r.err, memory.ErrExhausted)
		assert.Equal(t, 2, r.restored)
		assert.Len(t, r.left, 3)
		assert.Equal(t, time.Minute, time.Since(started))
	})
}

// If the first batch fails, the next one has the number of slots, too: without it, a restart finds no entries.
func TestFirstBatchFails(t *testing.T) {
	s := persisttest.New()
	r := begin(t, s, nil)
	require.True(t, r.store.Add(entry("a", 10)))
	s.Before = func(*storage.Operation) error { return errDisk }
	_, err := r.round()
	require.ErrorIs(t, err, errDisk)
	s.Before = nil
	r.settle(t)
	r = begin(t, s, nil)
	require.NoError(t, r.err)
	r.assertHeld(t, "a", 10)
}

// If memory is exhausted in the middle of a batch, what the batch had already is written and deleted later.
func TestExhaustedWhileWriting(t *testing.T) {
	s := filled(t, 10, 20)
	budget := memory.New(16<<20, 0)
	one := func(settings *Settings, limits *recent.Limits) { settings.Budget, limits.PerSeries = budget, 1 }
	r := begin(t, s, one)
	require.NoError(t, r.err)
	e := entry(service(0), 30)
	e.ID[1] = 1
	require.True(t, r.store.Add(e), "it replaces the one before")
	require.True(t, r.store.Add(entry(service(2), 30)))
	long := entry(service(3), 40)
	long.Attributes[0].Value = strings.Repeat("x", 1<<20)
	require.True(t, r.store.Add(long))
	others := reserveAllBut(t, budget, leastReserved+1000)
	for range 2 {
		_, err := r.round()
		require.ErrorIs(t, err, memory.ErrExhausted)
		_, _, pending := r.Stored()
		assert.EqualValues(t, 3, pending)
	}
	others.Release()
	r.settle(t)
	assert.Len(t, s.Keys(), 1+3*2+1+pieces(int64(len(describe(long))+40)), "nothing is left behind")

	r = begin(t, s, one)
	require.NoError(t, r.err)
	assert.Equal(t, 4, r.restored)
	assert.Equal(t, [16]byte{1, 1}, r.selected(service(0))[0].ID)
	r.assertHeld(t, service(1), 20)
	r.assertHeld(t, service(2), 30)
	assert.Len(t, r.selected(service(3)), 1)
}

// The exporter survives a storage that cannot be read, or that panics because its file is damaged.
func TestBrokenStorage(t *testing.T) {
	s := filled(t, 10, 20)
	s.Before = func(*storage.Operation) error { panic("damaged page") }
	r := begin(t, s, nil)
	require.ErrorIs(t, r.err, errPanic)
	assert.Zero(t, r.restored)
	require.True(t, r.store.Add(entry("new", 10)))
	_, err := r.round()
	require.ErrorContains(t, err, "damaged page")

	s.Before = func(o *storage.Operation) error {
		if strings.HasSuffix(o.Key, headerKey(1)) {
			return errDisk
		}
		return nil
	}
	r = begin(t, s, nil)
	require.ErrorIs(t, r.err, errDisk)
	assert.Equal(t, 1, r.restored, "the readable entries")
	assert.Positive(t, r.failed[OperationRead])
}

// An entry that the storage does not return at a start is neither lost nor overwritten: the next start restores it.
func TestReadFails(t *testing.T) {
	few := []int{10, pieceBytes + 10, 20}
	for _, key := range []string{slotsKey, headerKey(1), pieceKey(1, 0), pieceKey(1, 1)} {
		s := filled(t, few...)
		s.Before = func(o *storage.Operation) error {
			if o.Key == key {
				return errDisk
			}
			return nil
		}
		r := begin(t, s, nil)
		require.ErrorIs(t, r.err, errDisk, key)
		assert.Positive(t, r.failed[OperationRead], key)
		assert.Empty(t, r.dropped, key)
		if key == slotsKey {
			assert.Equal(t, len(few), r.restored, key)
		} else {
			assert.Equal(t, len(few)-1, r.restored, key)
		}
		s.Before = nil
		require.True(t, r.store.Add(entry("service-new", 40)))
		r.settle(t)

		r = begin(t, s, nil)
		require.NoError(t, r.err, key)
		assert.Equal(t, len(few)+1, r.restored, key)
		for i, size := range few {
			r.assertHeld(t, service(i), size)
		}
		r.assertHeld(t, "service-new", 40)
	}
}

// FuzzLoad checks that reading any content of a storage ends with an error or valid entries.
func FuzzLoad(f *testing.F) {
	s := filled(f, 10, 1000)
	values := s.Values()
	value := func(key string) []byte {
		for full, v := range values {
			if strings.HasSuffix(full, "/"+key) {
				return v
			}
		}
		return nil
	}
	f.Add(value(slotsKey), value(headerKey(0)), value(pieceKey(0, 0)))
	f.Add(encodeSlots(maxSlots), value(headerKey(1)), value(pieceKey(1, 0)))
	h := header{complete: true, number: maxNumber, length: maxLength, arrived: time.Now()}
	f.Add(encodeSlots(1), h.encode(), []byte{0xff})
	h.length = 40
	f.Add([]byte{}, h.encode(), bytes.Repeat([]byte{0xff, 1}, 20))
	f.Fuzz(func(t *testing.T, slots, head, body []byte) {
		if n, err := decodeSlots(slots); err == nil && n > 1000 {
			slots = encodeSlots(1000) // to be fast
		}
		s := persisttest.New()
		for key, v := range map[string][]byte{slotsKey: slots, headerKey(0): head, headerKey(1): head, pieceKey(0, 0): body, pieceKey(1, 0): body} {
			s.Put("Exporter/test/held/"+key, v)
		}
		r := begin(t, s, nil)
		profiles, _ := r.store.Held()
		require.LessOrEqual(t, profiles, int64(2))
		if h, err := decodeHeader(head); err == nil {
			require.Equal(t, head, h.encode())
		}
		r.settle(t)
		entries, _, _ := r.Stored()
		require.Equal(t, profiles, entries)
	})
}

// FuzzDecodeBody checks that a body is refused, or becomes an entry with the same body.
func FuzzDecodeBody(f *testing.F) {
	for _, size := range []int{0, 3, 100} {
		e := entry(service(size), size)
		f.Add(append(describe(e), e.Compressed...))
	}
	f.Add([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		reserved := int64(0)
		e, err := decodeBody(body, func(bytes int64) error { reserved = bytes; return nil })
		require.LessOrEqual(t, reserved, 40*int64(len(body)))
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := decodeBody(append(describe(e), e.Compressed...), func(int64) error { return nil })
		require.NoError(t, err)
		require.Equal(t, e, again)
	})
}
