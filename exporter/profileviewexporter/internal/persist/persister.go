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
	"github.com/otelpprof/otelpprof/internal/budget"
)

// Reason is why an entry is not in the storage any more, or was not read from it.
type Reason string

// The reasons.
const (
	ReasonAge      Reason = "age"
	ReasonDamaged  Reason = "damaged"
	ReasonDisk     Reason = "disk"
	ReasonTooLarge Reason = "too_large"
)

// Operation is what failed.
type Operation string

// The operations.
const (
	OperationRead  Operation = "read"
	OperationWrite Operation = "write"
)

// Settings are those of a persister.
type Settings struct {
	Client storage.Client
	// Budget is that of the process.
	Budget *budget.Budget
	// Disk is the number of bytes in the storage, Memory the most that an entry has, Age how long an entry is kept.
	Disk, Memory int64
	Age          time.Duration
	// Dropped is called for each entry that is left out. Failed is called for each operation that failed.
	Dropped func(Reason)
	Failed  func(Operation, error)
}

// retryInterval is how long a persister waits after a failure.
const retryInterval = 5 * time.Second

// The states of a record.
const (
	statePending = iota
	stateWriting
	stateWritten
)

// record is what a persister knows of an entry.
type record struct {
	entry *recent.Entry
	state int
	// slot is -1 for none. length is that of the body, once there is a slot.
	slot   int
	length int64
	// place is that in the list of what is pending, or of what is written.
	place *list.Element
	// removed says that the entry went while it was written.
	removed bool
}

// keyBytes is at least the length of a key.
const keyBytes = 16

// sizeOf returns what an entry with a body of this length takes in the storage.
func sizeOf(length int64) int64 {
	return headerBytes + length + keyBytes*int64(1+pieces(length))
}

// Persister writes what a store holds to a storage, a little later than it comes. It is a [recent.Watcher].
type Persister struct {
	settings Settings
	wake     chan struct{}
	stopping chan struct{}
	stopped  chan struct{}

	mu      sync.Mutex
	records map[*recent.Entry]*record
	pending *list.List // of records, in the order of their arrival
	written *list.List // the same
	// gone are records whose keys are to be deleted.
	gone []*record
	// bytes is the size of what has a slot and is not gone.
	bytes int64
	slots slots
	// number is that of the newest entry.
	number uint64
}

// New returns a persister that does nothing yet: Load comes first, then Start.
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

// Added is told about an entry that is to be written.
func (p *Persister) Added(e *recent.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &record{entry: e, slot: -1}
	r.place = p.pending.PushBack(r)
	p.records[e] = r
	p.signal()
}

// Removed is told about an entry that is to be deleted.
func (p *Persister) Removed(e *recent.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[e]
	if r == nil {
		return // max_disk was first
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

// forget has the keys of a record deleted. The caller holds the lock.
func (p *Persister) forget(r *record) {
	r.entry = nil
	if r.slot < 0 {
		return
	}
	p.bytes -= sizeOf(r.length)
	p.gone = append(p.gone, r)
}

func (p *Persister) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Stored tells how much is in the storage, and how many entries are not there yet.
func (p *Persister) Stored() (entries, bytes, pending int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.written.Len()), p.bytes, int64(p.pending.Len())
}

// Start writes from now on what comes and goes.
func (p *Persister) Start() {
	go func() {
		defer close(p.stopped)
		p.run()
	}()
}

// Close writes what is not written yet, and closes the storage. It returns at the latest when ctx ends, also where the storage
// does not answer. It is to be called once, after Start.
func (p *Persister) Close(ctx context.Context) error {
	close(p.stopping)
	closed := make(chan error, 1)
	go func() {
		select {
		case <-p.stopped:
		case <-ctx.Done(): // The storage makes the last write or refuses it.
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

// errPanic says that the storage panicked, as one whose file is damaged may.
var errPanic = errors.New("the storage panicked")

// guarded makes an error of each panic of a storage.
type guarded struct{ storage.Client }

func (g guarded) Batch(ctx context.Context, operations ...*storage.Operation) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errPanic, fault)
		}
	}()
	return g.Client.Batch(ctx, operations...)
}
