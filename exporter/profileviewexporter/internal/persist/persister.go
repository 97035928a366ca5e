// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// Reason says why an entry is no longer in the storage, or was not read from it.
type Reason string

// The reasons.
const (
	ReasonAge      Reason = "age"
	ReasonDamaged  Reason = "damaged"
	ReasonDisk     Reason = "disk"
	ReasonTooLarge Reason = "too_large"
)

// Operation is the kind of operation that failed.
type Operation string

// The operations.
const (
	OperationRead  Operation = "read"
	OperationWrite Operation = "write"
)

// Settings configure a persister.
type Settings struct {
	Client storage.Client
	// Budget is the memory budget of the process.
	Budget *memory.Budget
	// Disk limits the bytes in the storage, Memory the bytes of an entry, and Age the time that an entry is kept.
	Disk, Memory int64
	Age          time.Duration
	// Dropped is called for each entry that is dropped. Failed is called for each operation that failed.
	Dropped func(Reason)
	Failed  func(Operation, error)
}

// retryInterval is the pause after a failure.
const retryInterval = 5 * time.Second

// The states of a record.
const (
	statePending = iota
	stateWriting
	stateWritten
)

// record is the state of an entry.
type record struct {
	entry *recent.Entry
	state int
	// slot is -1 for none. length is the length of the body, if there is a slot.
	slot   int
	length int64
	// place is the element in the list pending or written.
	place *list.Element
	// removed is set if the store removed the entry while it was being written.
	removed bool
}

// left is a record whose entry was not restored, because memory was exhausted or the storage did not return it. Its age is that of
// the entry.
type left struct {
	*record
	arrived time.Time
}

// keyBytes is an upper bound of the length of a key.
const keyBytes = 16

// sizeOf returns the bytes in the storage of an entry with a body of this length.
func sizeOf(length int64) int64 {
	return headerBytes + length + keyBytes*int64(1+pieces(length))
}

// Persister writes the entries of a store to a storage in the background. It is a [recent.Watcher].
type Persister struct {
	settings Settings
	wake     chan struct{}
	stopping chan struct{}
	stopped  chan struct{}

	mu      sync.Mutex
	records map[*recent.Entry]*record
	pending *list.List // of *record, in order of arrival
	written *list.List // the same
	// left are the records of entries that are not in the store, in order of arrival. They are also in written, until they are dropped.
	left []left
	// gone are the records whose keys must be deleted.
	gone []*record
	// bytes is the size of the entries that have a slot and are not gone.
	bytes int64
	slots slots
	// number is the number of the newest entry.
	number uint64
}

// New returns a persister. Call Load, then Start, then Close.
func New(settings Settings) *Persister {
	settings.Client = guarded{settings.Client}
	return &Persister{
		settings: settings,
		wake:     make(chan struct{}, 1),
		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
		records:  map[*recent.Entry]*record{},
		pending:  list.New(),
		written:  list.New(),
	}
}

// Added implements [recent.Watcher]. The entry becomes pending.
func (p *Persister) Added(e *recent.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &record{entry: e, slot: -1}
	r.place = p.pending.PushBack(r)
	p.records[e] = r
	p.signal()
}

// Removed implements [recent.Watcher]. The entry is deleted from the storage.
func (p *Persister) Removed(e *recent.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[e]
	if r == nil {
		return // it was dropped already, because of max_disk
	}
	delete(p.records, e)
	switch r.state {
	case stateWriting:
		r.removed = true
		return
	case statePending:
		p.pending.Remove(r.place)
	case stateWritten:
		p.written.Remove(r.place)
	}
	p.forget(r)
	p.signal()
}

// forget marks the keys of a record for deletion. The caller holds the lock.
func (p *Persister) forget(r *record) {
	r.entry = nil
	if r.slot < 0 {
		return
	}
	p.bytes -= sizeOf(r.length)
	p.gone = append(p.gone, r)
}

// expire forgets the records that were left and are too old. The store removes the others. The caller holds the lock.
func (p *Persister) expire() {
	age := p.settings.Age
	for len(p.left) > 0 && (p.left[0].place == nil || age > 0 && time.Since(p.left[0].arrived) > age) {
		if oldest := p.left[0].record; oldest.place != nil {
			p.written.Remove(oldest.place)
			p.forget(oldest)
		}
		p.left = p.left[1:]
	}
}

func (p *Persister) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Stored returns the number and bytes of the entries in the storage, and the number of pending entries.
func (p *Persister) Stored() (entries, bytes, pending int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.written.Len()), p.bytes, int64(p.pending.Len())
}

// Start starts to write changes of the store to the storage.
func (p *Persister) Start() {
	go func() {
		defer close(p.stopped)
		p.run()
	}()
}

// Close writes the pending entries, and closes the storage. It returns when ctx ends, even if the storage does not answer. It
// must be called once, after Start.
func (p *Persister) Close(ctx context.Context) error {
	close(p.stopping)
	closed := make(chan error, 1)
	go func() {
		select {
		case <-p.stopped:
		case <-ctx.Done(): // The storage completes the last write or refuses it.
		}
		closed <- p.settings.Client.Close(ctx)
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cannot close the storage in time: %w", context.Cause(ctx))
	}
}

// errPanic is the error for a panic of the storage, which can happen if its file is damaged.
var errPanic = errors.New("the storage panicked")

// guarded returns the panics of a storage as errors.
type guarded struct{ storage.Client }

func (g guarded) Batch(ctx context.Context, operations ...*storage.Operation) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errPanic, fault)
		}
	}()
	return g.Client.Batch(ctx, operations...)
}
