// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/otelpprof/otelpprof/internal/badrequest"
	"github.com/otelpprof/otelpprof/internal/budget"
)

// refusal says why a message was not taken into a batch.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// batches collects messages, each with those of its tenant, and hands them to flush when they are due.
//
// At most MaxHeldBytes are charged for messages at a time, and at most MetadataCardinalityLimit tenants have any. Of
// one tenant, as many batches are flushed at a time as there are processors; while these are under way, the open batch
// goes on collecting. A tenant without messages is forgotten.
type batches struct {
	cfg BatchConfig
	// flush passes a batch on, and gives up when ctx ends. It calls charge when less is held. settle tells the senders what
	// became of their messages.
	flush func(ctx context.Context, b *batch) (settle func())
	// maxFlushes is how many flushes one tenant may have under way.
	maxFlushes int

	// ctx ends when flushes must end, cancel ends it.
	ctx    context.Context
	cancel context.CancelFunc
	// stopping is closed when no further messages are taken.
	stopping chan struct{}
	// abandoned ends when flushes are left behind: those who wait for them get no result.
	abandoned context.Context
	abandon   context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	tenants map[string]*tenant
	held    int64
	// most is what may be held, if it is more than one message.
	most    int64
	stopped bool
}

func newBatches(cfg BatchConfig, flush func(context.Context, *batch) func()) *batches {
	ctx, cancel := context.WithCancel(context.Background())
	abandoned, abandon := context.WithCancel(context.Background())
	return &batches{
		cfg:        cfg,
		flush:      flush,
		maxFlushes: runtime.GOMAXPROCS(0),
		ctx:        ctx,
		cancel:     cancel,
		stopping:   make(chan struct{}),
		abandoned:  abandoned,
		abandon:    abandon,
		tenants:    map[string]*tenant{},
		most:       cfg.MaxHeldBytes,
	}
}

// add holds a message until its batch is due, or returns a *refusal.
func (b *batches) add(of origin, m message) error {
	m.memory += messageOverhead + int64(len(of.key))
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.place(of, m.memory)
	if err != nil {
		return err
	}
	b.held += m.memory
	if t.open == nil {
		b.openBatch(t)
	}
	t.open.add(m)
	switch {
	case b.cfg.MaxSamples > 0 && t.open.samples >= b.cfg.MaxSamples:
		b.closeBatch(t, triggerSamples)
	case b.cfg.MaxBytes > 0 && t.open.bytes >= b.cfg.MaxBytes:
		b.closeBatch(t, triggerBytes)
	}
	return nil
}

// place returns the tenant for a message, if there is room.
func (b *batches) place(of origin, memory int64) (*tenant, error) {
	t := b.tenants[of.key]
	switch {
	case b.stopped:
		return nil, &refusal{refusedStopped, errStopped}
	case memory > b.cfg.MaxHeldBytes:
		return nil, &refusal{refusedTooLarge, badrequest.Errorf(
			"cannot hold a message of %d bytes in memory: batch::max_held_bytes is %d", memory, b.cfg.MaxHeldBytes)}
	case b.held > 0 && b.held+memory > b.most:
		b.closeAll(triggerFull)
		return nil, &refusal{refusedHeldBytes, fmt.Errorf(
			"cannot hold %d bytes more in memory: %d are held, and batch::max_held_bytes and the memory budget allow %d",
			memory, b.held, b.most)}
	case t == nil && len(b.tenants) >= b.cfg.MetadataCardinalityLimit:
		b.closeAll(triggerFull)
		return nil, &refusal{refusedTenants, fmt.Errorf(
			"cannot hold profiles of one more combination of metadata: as many as batch::metadata_cardinality_limit, %d, have some",
			b.cfg.MetadataCardinalityLimit)}
	}
	if t == nil {
		t = &tenant{origin: of}
		b.tenants[of.key] = t
	}
	return t, nil
}

func (b *batches) openBatch(t *tenant) {
	open := &batch{tenant: t}
	t.open, t.due = open, false
	t.timer = time.AfterFunc(b.cfg.Timeout, func() { b.timeOut(t, open) })
}

// timeOut says that the time of a batch is over.
func (b *batches) timeOut(t *tenant, open *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.open != open {
		return
	}
	t.due = true
	b.startFlushes(t)
}

// closeBatch ends the open batch of a tenant.
func (b *batches) closeBatch(t *tenant, because trigger) {
	t.timer.Stop()
	t.open.trigger = because
	t.waiting = append(t.waiting, t.open)
	t.open = nil
	b.startFlushes(t)
}

func (b *batches) closeAll(because trigger) {
	for _, t := range b.tenants {
		if t.open != nil {
			b.closeBatch(t, because)
		}
	}
}

func (b *batches) startFlushes(t *tenant) {
	for t.flushes < b.maxFlushes {
		next := t.next()
		if next == nil {
			return
		}
		t.flushes++
		b.running.Add(1)
		go b.run(next)
	}
}

func (b *batches) run(due *batch) {
	defer b.running.Done()
	t := due.tenant
	settle := b.flush(budget.NewContext(client.NewContext(b.ctx, t.info), due.reservation), due)
	due.reservation.Release()
	b.remove(due)
	settle() // There is room by now for what the senders send next.
}

// remove forgets a batch that was flushed.
func (b *batches) remove(due *batch) {
	t := due.tenant
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= due.memory
	t.flushes--
	b.startFlushes(t)
	if t.idle() {
		delete(b.tenants, t.key)
	}
}

// charge sets what a batch is charged with to what is held of it now.
func (b *batches) charge(due *batch, memory int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += memory - due.memory
	due.memory = memory
}

// heldPart is the part of the memory budget, one in so many, that batches may hold: it is charged workFactor times, and the rest
// is for requests and for what the next consumers need to take a batch.
const heldPart = 2 * workFactor

// within bounds what is held by the memory budget.
func (b *batches) within(total *budget.Budget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = min(b.most, total.Size()/heldPart)
}

// makeRoom ends all batches.
func (b *batches) makeRoom() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeAll(triggerFull)
}

// holds returns what is charged, and how many tenants have messages.
func (b *batches) holds() (memory int64, tenants int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, len(b.tenants)
}
