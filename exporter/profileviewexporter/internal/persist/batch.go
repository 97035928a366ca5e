// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// batch is a group of operations that are written together.
type batch struct {
	p          *Persister
	operations []*storage.Operation
	bytes      int
	// deleted are the records whose keys the operations delete. written are the records that they complete.
	deleted, written []*record
	// slots is the number of slots that the operations store, 0 for none.
	slots int
	// reservation is the memory of the operations.
	reservation *memory.Reservation
}

func (b *batch) set(key string, value []byte) {
	b.operations = append(b.operations, storage.SetOperation(key, value))
	b.bytes += len(value)
}

// delete adds the operations that delete the keys of a record. The header is deleted last, and marks the entry as incomplete
// before, since a storage without transactions can execute only some of them.
func (b *batch) delete(r *record) {
	h := header{number: 1, length: max(r.length, 1)}
	b.operations = append(b.operations, storage.SetOperation(headerKey(r.slot), h.encode()))
	for piece := range pieces(r.length) {
		b.operations = append(b.operations, storage.DeleteOperation(pieceKey(r.slot, piece)))
	}
	b.operations = append(b.operations, storage.DeleteOperation(headerKey(r.slot)))
	b.deleted = append(b.deleted, r)
}

// add adds the operations that write a record. It writes an entry that is larger than a batch in several. After an error the
// record is still pending.
func (b *batch) add(r *record) error {
	e := r.entry
	description := describe(e)
	if err := b.reservation.Grow(context.Background(), leastReserved+int64(len(description))); err != nil {
		return err
	}
	length := int64(len(description) + len(e.Compressed))
	if placed, err := b.place(r, length); err != nil || !placed {
		return err
	}
	h := header{number: b.p.nextNumber(), arrived: e.Arrived(), length: length, checksum: checksumOf(description, e.Compressed)}
	b.set(headerKey(r.slot), h.encode())
	several := length > batchBytes
	for piece := range pieces(length) {
		begin := piece * pieceBytes
		b.set(pieceKey(r.slot, piece), part(description, e.Compressed, begin, min(begin+pieceBytes, int(length))))
		if several && b.bytes >= batchBytes {
			if err := b.flush(); err != nil {
				return err
			}
		}
	}
	h.complete = true
	b.set(headerKey(r.slot), h.encode())
	b.written = append(b.written, r)
	return nil
}

// part returns the bytes from begin to end of a followed by b, in new memory.
func part(a, b []byte, begin, end int) []byte {
	value := make([]byte, 0, end-begin)
	if begin < len(a) {
		value = append(value, a[begin:min(end, len(a))]...)
	}
	if end > len(a) {
		value = append(value, b[max(begin-len(a), 0):end-len(a)]...)
	}
	return value
}

// place finds a slot for a record, and deletes the oldest entries until the storage has space for it. It returns false if the
// storage has no space.
func (b *batch) place(r *record, length int64) (placed bool, err error) {
	if r.slot >= 0 { // A previous write has failed, and perhaps that of the number of slots, too.
		b.storeSlots()
		return true, nil
	}
	size := sizeOf(length)
	fits := size <= b.p.settings.Disk
	if fits && !b.evict(size) {
		// The other entries are in this batch. They can be deleted after it is written.
		if err := b.flush(); err != nil {
			return false, err
		}
		fits = b.evict(size)
	}
	if !b.take(r, length, fits) {
		return false, nil
	}
	b.storeSlots()
	return true, nil
}

// take takes a slot for a record if it fits. If there is none, it drops the record.
func (b *batch) take(r *record, length int64, fits bool) bool {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	slot := -1
	if fits {
		slot = b.p.slots.take()
	}
	if slot < 0 {
		b.p.drop(r, ReasonDisk)
		return false
	}
	r.slot, r.length = slot, length
	b.p.bytes += sizeOf(length)
	return true
}

// storeSlots adds the operation that stores the number of slots, if the storage has a smaller one.
func (b *batch) storeSlots() {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if n := b.p.slots.toStore(); n > max(b.p.slots.stored, b.slots) {
		b.slots = n
		b.set(slotsKey, encodeSlots(n))
	}
}

// evict adds the operations that delete the oldest entries until there is space for a number of bytes. It returns false if the
// space is not enough.
func (b *batch) evict(bytes int64) bool {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	for b.p.bytes+bytes > b.p.settings.Disk && b.p.written.Len() > 0 {
		oldest := b.p.written.Remove(b.p.written.Front()).(*record)
		oldest.place = nil
		b.p.bytes -= sizeOf(oldest.length)
		b.p.drop(oldest, ReasonDisk)
		b.delete(oldest)
	}
	return b.p.bytes+bytes <= b.p.settings.Disk
}

// drop forgets the entry of a record. The caller holds the lock.
func (p *Persister) drop(r *record, reason Reason) {
	delete(p.records, r.entry)
	r.entry = nil
	p.settings.Dropped(reason)
}

// nextNumber returns the number of the next entry. It comes from the time of day, so that it is above the numbers of earlier
// runs, even if these could not be read.
func (p *Persister) nextNumber() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number = max(p.number+1, uint64(max(0, time.Now().UnixNano())))
	return p.number
}

// flush executes the operations. After an error, the caller must undo them.
func (b *batch) flush() error {
	if len(b.operations) == 0 {
		return nil
	}
	if err := b.p.settings.Client.Batch(context.Background(), b.operations...); err != nil {
		return err
	}
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	for _, r := range b.deleted {
		b.p.slots.release(r.slot)
	}
	for _, r := range b.written {
		r.state = stateWritten
		if r.removed {
			b.p.forget(r)
			continue
		}
		r.place = b.p.written.PushBack(r)
	}
	b.p.slots.stored = max(b.p.slots.stored, b.slots)
	*b = batch{p: b.p, reservation: b.reservation}
	return nil
}

// undo makes the records of operations that were not executed, or failed, pending or deleted again. A storage without transactions
// can have executed some of the operations.
func (b *batch) undo() {
	b.p.mu.Lock()
	b.p.gone = append(b.p.gone, b.deleted...)
	written := b.written
	*b = batch{p: b.p, reservation: b.reservation}
	b.p.mu.Unlock()
	for _, r := range slices.Backward(written) {
		b.fail(r)
	}
}

// fail makes a record pending again, before all others.
func (b *batch) fail(r *record) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if r.removed {
		b.p.forget(r)
		return
	}
	r.state = statePending
	r.place = b.p.pending.PushFront(r)
}
