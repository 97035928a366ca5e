// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// ErrTooLarge is the error for an entry of the storage that exceeds a limit of the store.
var ErrTooLarge = errors.New("the profile exceeds a limit of the exporter")

// ErrInvalid is the error for an entry whose profile cannot be shown.
var ErrInvalid = errors.New("the profile of an entry is not valid")

const (
	// headersAtOnce is the number of headers that are read in a batch.
	headersAtOnce = 512
	// foundBytes is the memory of a header while all headers are read, with its share of the lists.
	foundBytes = 256
	// emptyEnd is the number of consecutive empty slots that ends the search if the number of slots is unknown.
	emptyEnd = 8 * headersAtOnce
)

// found is an entry in the storage.
type found struct {
	header
	slot int
}

// loading is the state of reading a storage.
type loading struct {
	*Persister
	context     context.Context //nolint:containedctx // its lifetime is that of Load
	impatient   context.Context //nolint:containedctx // the same; it has ended, so that nothing waits for memory
	reservation *memory.Reservation
	found       []found
	body        []byte
	// exhausted is set after an entry was left because memory was exhausted.
	exhausted bool
	note      func(error)
}

// Load reads the entries of an earlier run, oldest first, and calls restore with each entry. It counts entries that cannot be
// read, and deletes them later. It returns the number of restored entries, and the first of these errors.
func (p *Persister) Load(ctx context.Context, restore Restore) (restored int, first error) {
	impatient, end := context.WithCancelCause(ctx)
	end(memory.ErrExhausted)
	l := &loading{Persister: p, context: ctx, impatient: impatient, note: func(err error) {
		if first == nil {
			first = err
		}
	}}
	n, known := l.slotsStored()
	var err error
	if l.reservation, err = p.settings.Budget.Reserve(ctx, leastReserved); err != nil {
		l.useSlotsFrom(n, n, known) // All of them can have entries.
		return 0, err
	}
	defer l.reservation.Release()
	l.find(n, known)
	l.choose()
	for _, f := range l.found {
		if err := l.restore(f, restore); err != nil {
			l.note(fmt.Errorf("cannot read the entry in slot %d: %w", f.slot, err))
			continue
		}
		restored++
	}
	return restored, first
}

// useSlotsFrom makes the slots from begin on free. n is the stored number of slots, if that is known.
func (l *loading) useSlotsFrom(begin, n int, known bool) {
	l.slots.n = begin
	if known {
		l.slots.stored = n
	}
}

// find reads the headers of n slots, or, if their number is not known, until many are empty.
func (l *loading) find(n int, known bool) {
	empty, begin := 0, 0
	for slot := 0; slot < n && (known || empty < emptyEnd); slot += headersAtOnce {
		values, errs := l.headers(slot, min(slot+headersAtOnce, n))
		if err := l.reservation.Grow(l.context, leastReserved+foundBytes*int64(len(l.found)+len(values))); err != nil {
			l.note(err)
			begin = n // The other slots can have entries, so they are not free.
			break
		}
		if !slices.Contains(errs, nil) { // These slots can have entries, so they are not free.
			if begin = slot + len(values); known {
				begin = n
			}
			l.note(errs[0])
			break
		}
		for i, value := range values {
			if value == nil && errs[i] == nil {
				empty++
				continue
			}
			l.slots.releaseAll(span{begin, slot + i})
			begin, empty = slot+i+1, 0
			l.take(slot+i, value, errs[i])
		}
	}
	l.useSlotsFrom(begin, n, known)
}

// slotsStored returns the limit of the slots that can have an entry. known is false if the stored number cannot be read or is
// damaged.
func (l *loading) slotsStored() (n int, known bool) {
	value, err := l.get(slotsKey)
	if err == nil && value == nil {
		return 0, true
	}
	if err == nil {
		if n, err = decodeSlots(value); err == nil {
			return n, true
		}
		l.settings.Dropped(ReasonDamaged)
	}
	l.note(err)
	return maxSlots, false
}

// headers returns the values of the headers of some slots, or an error for each.
func (l *loading) headers(begin, end int) (values [][]byte, errs []error) {
	values, errs = make([][]byte, end-begin), make([]error, end-begin)
	operations := make([]*storage.Operation, end-begin)
	for i := range operations {
		operations[i] = storage.GetOperation(headerKey(begin + i))
	}
	err := l.settings.Client.Batch(l.context, operations...)
	for i := range operations {
		if err != nil { // Single reads of them can succeed.
			values[i], errs[i] = l.get(operations[i].Key)
			continue
		}
		values[i] = operations[i].Value
	}
	return values, errs
}

// errRead is the error for a value that the storage did not return. A later attempt can succeed.
var errRead = errors.New("the storage cannot be read")

// get returns a value. It counts an error.
func (l *loading) get(key string) ([]byte, error) {
	operation := storage.GetOperation(key)
	if err := l.settings.Client.Batch(l.context, operation); err != nil {
		l.settings.Failed(OperationRead, err)
		return nil, fmt.Errorf("%w: %w", errRead, err)
	}
	return operation.Value, nil
}

// take remembers the header of a slot. If the storage did not return the header, the slot stays in use, so that the next start can
// restore its entry.
func (l *loading) take(slot int, value []byte, err error) {
	var h header
	if err == nil {
		h, err = decodeHeader(value)
	}
	if err != nil {
		l.note(fmt.Errorf("cannot read the header of slot %d: %w", slot, err))
	}
	switch {
	case errors.Is(err, errRead):
	case err != nil:
		l.discard(found{header: header{length: l.lengthOf(slot)}, slot: slot}, ReasonDamaged)
	case !h.complete:
		l.discard(found{header: h, slot: slot}, "")
	default:
		l.found = append(l.found, found{header: h, slot: slot})
	}
}

// lengthOf returns a length that covers all pieces of a slot whose header cannot be read.
func (l *loading) lengthOf(slot int) int64 {
	for piece := 0; ; piece++ {
		value, err := l.get(pieceKey(slot, piece))
		if err != nil || value == nil {
			return int64(piece) * pieceBytes
		}
	}
}

// discard marks an entry for deletion. It counts the entry unless it was never complete.
func (l *loading) discard(f found, reason Reason) {
	if f.length > batchBytes { // A wrong header can have any length.
		f.length = min(f.length, max(1, l.lengthOf(f.slot)))
	}
	if reason != "" {
		l.settings.Dropped(reason)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = append(l.gone, &record{slot: f.slot, length: f.length})
}
