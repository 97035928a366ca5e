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
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/dedup"
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

// batching joins the messages of each tenant in batches, and passes these on.
//
// The messages of all tenants together use at most what Start says, and at most MetadataCardinalityLimit tenants have messages.
// For each tenant, at most GOMAXPROCS flushes run at a time; meanwhile its open batch collects more messages. A tenant
// without messages is removed.
type batching struct {
	cfg  BatchConfig
	core *dedup.Deduplicator
	next xconsumer.Profiles
	// delta reports whether profiles of a type may be merged. It is nil unless merge_profiles is on.
	delta func(typ, unit string) bool
	// tracksIDs reports whether drop_repeated is on. It needs to know which profiles were delivered.
	tracksIDs bool
	telemetry *telemetry
	logger    *zap.Logger
	// slots is a semaphore for joining batches. It limits the memory of the concurrent joins.
	slots chan struct{}
	// warnOnce is for the log line about a message above max_bytes.
	warnOnce sync.Once
	// maxFlushes limits the concurrent flushes of one tenant.
	maxFlushes int

	// ctx is the context of the flushes.
	ctx    context.Context
	cancel context.CancelFunc
	// stopping is closed when no more messages are accepted: the shutdown begins.
	stopping chan struct{}
	// abandoned ends when the shutdown stops waiting for flushes. Senders that still wait then get an error.
	abandoned context.Context
	abandon   context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	tenants map[string]*tenant
	// held has the memory of the messages, and as much for one copy.
	held    memory.Share
	stopped bool
}

func newBatching(set processor.Settings, cfg *Config, next xconsumer.Profiles, telemetry *telemetry) *batching {
	options := cfg.options()
	// With the other values of on_invalid, the profiles were checked before the message was held.
	options.OnInvalid = dedup.DropProfile
	b := &batching{
		cfg:        *cfg.Batch.Get(),
		core:       dedup.New(options),
		next:       next,
		tracksIDs:  cfg.DropRepeated.HasValue(),
		telemetry:  telemetry,
		logger:     set.Logger,
		slots:      make(chan struct{}, runtime.GOMAXPROCS(0)),
		maxFlushes: runtime.GOMAXPROCS(0),
		stopping:   make(chan struct{}),
		tenants:    map[string]*tenant{},
	}
	if section := cfg.MergeProfiles.Get(); section != nil {
		b.delta = section.delta
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.abandoned, b.abandon = context.WithCancel(context.Background())
	return b
}

// add holds a message until its batch is due, or returns a *refusal.
func (b *batching) add(of origin, m message) error {
	m.memory += messageOverhead + int64(len(of.key))
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.admit(of, m.memory)
	if err != nil {
		return err
	}
	// A message above the share is held alone. It leaves ordinary ones their part.
	held := min(memory.MessageFactor*m.memory, b.held.Most(memory.MessageFactor*m.memory))
	b.held.Use(held)
	open := t.open
	if open == nil {
		open = &batch{tenant: t, trigger: triggerTimeout}
		t.open, t.due = open, false
		t.timer = time.AfterFunc(b.cfg.Timeout, func() { b.timeOut(t, open) })
	}
	open.messages = append(open.messages, m)
	open.bytes += m.bytes
	open.samples += m.samples
	open.held += held
	open.reservation = open.reservation.Join(m.reservation)
	switch {
	case b.cfg.MaxSamples > 0 && open.samples >= b.cfg.MaxSamples:
		b.closeBatch(t, triggerSamples)
	case b.cfg.MaxBytes > 0 && open.bytes >= b.cfg.MaxBytes:
		b.closeBatch(t, triggerBytes)
	}
	return nil
}

// admit returns the tenant for a message of this size, or a *refusal if a limit does not allow one more.
func (b *batching) admit(of origin, bytes int64) (*tenant, error) {
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

// timeOut flushes a batch when its timeout has passed, or marks it as due if too many flushes are running.
func (b *batching) timeOut(t *tenant, open *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.open != open {
		return
	}
	t.due = true
	b.startFlushes(t)
}

// closeBatch closes the open batch of a tenant. It collects no more messages.
func (b *batching) closeBatch(t *tenant, reason string) {
	t.timer.Stop()
	t.open.trigger = reason
	t.waiting = append(t.waiting, t.open)
	t.open = nil
	b.startFlushes(t)
}

func (b *batching) closeAll(reason string) {
	for _, t := range b.tenants {
		if t.open != nil {
			b.closeBatch(t, reason)
		}
	}
}

func (b *batching) startFlushes(t *tenant) {
	for t.flushes < b.maxFlushes {
		next := t.open
		switch {
		case len(t.waiting) > 0:
			next = t.waiting[0]
			t.waiting[0] = nil
			t.waiting = t.waiting[1:]
		case next != nil && t.due:
			t.open = nil
		default:
			return
		}
		t.flushes++
		b.running.Add(1)
		go b.run(next)
	}
}

// run flushes a batch, starts the next flush, and tells the senders the results.
func (b *batching) run(due *batch) {
	defer b.running.Done()
	t := due.tenant
	arrived, results := b.flush(memory.NewContext(client.NewContext(b.ctx, t.info), due.reservation), due)
	due.reservation.Release()
	b.mu.Lock()
	b.held.Use(-due.held)
	t.flushes--
	b.startFlushes(t)
	if t.open == nil && len(t.waiting) == 0 && t.flushes == 0 {
		delete(b.tenants, t.key)
	}
	b.mu.Unlock()
	for i, m := range due.messages { // Only now, so that the next messages of the senders fit.
		m.claim.settle(arrived)
		if m.result != nil {
			m.result <- results[i]
		}
	}
}

// usage returns the number of held bytes, and the number of tenants with messages. A message above the share counts as in add.
func (b *batching) usage() (bytes int64, tenants int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Used() / memory.MessageFactor, len(b.tenants)
}
