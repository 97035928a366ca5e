// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// Restore adds an entry with its time of arrival to the store. It calls reserve for memory in addition to that of the entry. It
// returns [ErrTooLarge], [ErrInvalid] or an error of the budget.
type Restore func(e *recent.Entry, arrived time.Time, reserve func(bytes int64) error) error

// choose sorts the found entries by arrival, and discards those that are too old or exceed the disk limit.
func (l *loading) choose() {
	slices.SortStableFunc(l.found, func(a, b found) int { return cmp.Compare(a.number, b.number) })
	now := time.Now()
	// If the clock was set back, no entry may have arrived after the next one.
	latest := now
	total := int64(0)
	for i := range slices.Backward(l.found) {
		f := &l.found[i]
		if f.arrived.After(latest) {
			f.arrived = latest
		}
		latest = f.arrived
		total += sizeOf(f.length)
	}
	l.found = slices.DeleteFunc(l.found, func(f found) bool {
		var reason Reason
		switch {
		case f.number == l.number:
			l.note(fmt.Errorf("%w: the number of slot %d occurs twice", errDamaged, f.slot))
			reason = ReasonDamaged
		case l.settings.Age > 0 && now.Sub(f.arrived) > l.settings.Age:
			reason = ReasonAge
		case total > l.settings.Disk:
			reason = ReasonDisk
		}
		l.number = f.number
		if reason == "" {
			return false
		}
		total -= sizeOf(f.length)
		l.discard(f, reason)
		return true
	})
}

// restore reads an entry and adds it to the store. It discards the entry if that fails, unless only memory was missing or the
// storage did not return all of it.
func (l *loading) restore(f found, restore Restore) error {
	r, err := l.read(f)
	if err == nil {
		err = l.held(r, f.arrived, restore)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memory.ErrExhausted):
		l.exhausted = true
		l.leave(f)
	case errors.Is(err, errRead), l.context.Err() != nil:
		l.leave(f)
	case errors.Is(err, ErrTooLarge), errors.Is(err, memory.ErrTooLarge):
		l.discard(f, ReasonTooLarge)
	default:
		l.discard(f, ReasonDamaged)
	}
	return err
}

// leave keeps an entry in the storage that is not in the store. The next start can restore it.
func (l *loading) leave(f found) {
	r := &record{state: stateWritten, slot: f.slot, length: f.length}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.place = l.written.PushBack(r)
	l.bytes += sizeOf(r.length)
	l.left = append(l.left, left{record: r, arrived: f.arrived})
}

// held adds a record to the store. The store can remove older records during this.
func (l *loading) held(r *record, arrived time.Time, restore Restore) error {
	e := r.entry
	l.mu.Lock()
	r.place = l.written.PushBack(r)
	l.records[e] = r
	l.bytes += sizeOf(r.length)
	l.mu.Unlock()
	err := restore(e, arrived, func(bytes int64) error { return l.reserve(entryCost*r.length + bytes) })
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Remove(r.place)
	delete(l.records, e)
	l.bytes -= sizeOf(r.length)
	return err
}

// reserve reserves memory in addition to that of the headers. It waits for memory only until that has failed once: thousands of
// entries would delay the start for hours.
func (l *loading) reserve(bytes int64) error {
	bytes += leastReserved + foundBytes*int64(cap(l.found))
	if l.exhausted {
		return l.reservation.Grow(l.impatient, bytes)
	}
	return l.reservation.Grow(l.context, bytes)
}

// entryCost is the memory to read an entry, as a multiple of its length: in the storage, as a body, and decoded.
const entryCost = 4

// read reads the body of an entry.
func (l *loading) read(f found) (*record, error) {
	if f.length > l.settings.Memory {
		return nil, fmt.Errorf("%w: it has %d bytes, max_memory is %d", ErrTooLarge, f.length, l.settings.Memory)
	}
	if err := l.reserve(entryCost * f.length); err != nil {
		return nil, err
	}
	l.body = slices.Grow(l.body[:0], int(f.length))
	for piece := range pieces(f.length) {
		value, err := l.get(pieceKey(f.slot, piece))
		if err != nil {
			return nil, err
		}
		if want := min(pieceBytes, f.length-int64(len(l.body))); int64(len(value)) != want {
			return nil, fmt.Errorf("%w: piece %d has %d bytes, want %d", errDamaged, piece, len(value), want)
		}
		l.body = append(l.body, value...)
	}
	if crc32.Checksum(l.body, castagnoli) != f.checksum {
		return nil, fmt.Errorf("%w: the checksum of a body is wrong", errDamaged)
	}
	e, err := decodeBody(l.body, func(bytes int64) error { return l.reserve(entryCost*f.length + bytes) })
	if err != nil {
		return nil, err
	}
	return &record{entry: e, state: stateWritten, slot: f.slot, length: f.length}, nil
}
