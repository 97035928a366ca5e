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

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// refusal is the error for a refused message. reason is the value of the attribute reason.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// batches collects the messages of each tenant in batches, and flushes these.
//
// The messages of all tenants together use at most what limitTo says, and at most MetadataCardinalityLimit tenants have messages.
// For each tenant, at most GOMAXPROCS flushes run at a time; meanwhile its open batch collects more messages. A tenant
// without messages is removed.
type batches struct {
	cfg BatchConfig
	// flush passes a batch to the next consumer, until ctx ends. settle sends the results to the senders.
	flush func(ctx context.Context, b *batch) (settle func())
	// maxFlushes limits the concurrent flushes of one tenant.
	maxFlushes int

	// ctx is the context of the flushes.
	ctx    context.Context
	cancel context.CancelFunc
	// stopping is closed when no more messages are accepted.
	stopping chan struct{}
	// abandoned ends when the shutdown stops waiting for flushes. Senders that still wait then get an error.
	abandoned context.Context
	abandon   context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	tenants map[string]*tenant
	// held has the memory of the messages, and as much for one copy. A single message may exceed it.
	held    memory.Share
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
	}
}

// add holds a message until its batch is due, or returns a *refusal.
func (b *batches) add(of origin, m message) error {
	m.memory += messageOverhead + int64(len(of.key))
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.admit(of, m.memory)
	if err != nil {
		return err
	}
	b.held.Use(memory.MessageFactor * m.memory)
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

// admit returns the tenant for a message of this size, or a *refusal if a limit does not allow one more.
func (b *batches) admit(of origin, bytes int64) (*tenant, error) {
	t := b.tenants[of.key]
	switch {
	case b.stopped:
		return nil, &refusal{refusedStopped, errStopped}
	case b.cfg.MaxHeldBytes > 0 && bytes > b.cfg.MaxHeldBytes:
		return nil, &refusal{refusedTooLarge, otlpstatus.BadRequest(
			"cannot hold a message of %d bytes in memory: batch::max_held_bytes is %d", bytes, b.cfg.MaxHeldBytes)}
	case b.held.Used() > 0 && !b.held.Fits(memory.MessageFactor*bytes):
		b.closeAll(triggerFull)
		return nil, &refusal{refusedHeldBytes, fmt.Errorf(
			"cannot hold %d more bytes in memory: %d are held, and batch::max_held_bytes and the memory budget allow %d",
			bytes, b.held.Used()/memory.MessageFactor, b.held.Most(memory.MessageFactor*bytes)/memory.MessageFactor)}
	case t == nil && len(b.tenants) >= b.cfg.MetadataCardinalityLimit:
		b.closeAll(triggerFull)
		return nil, &refusal{refusedTenants, fmt.Errorf(
			"cannot hold profiles of one more combination of metadata values: batch::metadata_cardinality_limit allows %d",
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

// timeOut flushes a batch when its timeout has passed, or marks it as due if too many flushes are running.
func (b *batches) timeOut(t *tenant, open *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.open != open {
		return
	}
	t.due = true
	b.startFlushes(t)
}

// closeBatch closes the open batch of a tenant. It collects no more messages.
func (b *batches) closeBatch(t *tenant, reason trigger) {
	t.timer.Stop()
	t.open.trigger = reason
	t.waiting = append(t.waiting, t.open)
	t.open = nil
	b.startFlushes(t)
}

func (b *batches) closeAll(reason trigger) {
	for _, t := range b.tenants {
		if t.open != nil {
			b.closeBatch(t, reason)
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
	settle := b.flush(memory.NewContext(client.NewContext(b.ctx, t.info), due.reservation), due)
	due.reservation.Release()
	b.remove(due)
	settle() // This is after remove, so that the next messages of the senders fit.
}

// remove subtracts the memory of a flushed batch, and starts the next flush.
func (b *batches) remove(due *batch) {
	t := due.tenant
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Use(-memory.MessageFactor * due.memory)
	t.flushes--
	b.startFlushes(t)
	if t.idle() {
		delete(b.tenants, t.key)
	}
}

const heldPart = 2

// limitTo limits the held messages to one part in heldPart of the budget, and to MaxHeldBytes.
func (b *batches) limitTo(budget *memory.Budget) {
	most := budget.Size() / heldPart
	if b.cfg.MaxHeldBytes > 0 {
		most = memory.MessageFactor * min(most/memory.MessageFactor, b.cfg.MaxHeldBytes)
	}
	b.held.Limit(budget, most)
}

// usage returns the number of held bytes, and the number of tenants with messages.
func (b *batches) usage() (bytes int64, tenants int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Used() / memory.MessageFactor, len(b.tenants)
}
