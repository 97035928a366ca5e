// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/budget"
)

// Exporter adds to the helper's exporter that a request has a reservation for as long as it is in memory, also in
// the queue.
type Exporter struct {
	xexporter.Profiles
	telemetry *Telemetry
	budget    *budget.Budget
	// queueBytes is the size of a queue that is bounded by bytes, else 0.
	queueBytes int64
	consume    xconsumer.ConsumeProfilesFunc
	// inMemory says that a request stays in memory after ConsumeProfiles has returned. queued is what such requests have, a
	// part of the budget: the rest is free for those that are worked on.
	inMemory bool
	queued   *budget.Budget
	// drainTime is how long a shutdown works on the queue. drained ends then.
	drainTime time.Duration
	drained   context.Context
	endDrain  context.CancelCauseFunc
	once      sync.Once
	err       error
}

// errShutdown ends the work on a request from a queue in memory.
var errShutdown = errors.New("the exporter is shutting down")

// Settings are what an exporter differs in from others.
type Settings struct {
	Timeout   exporterhelper.TimeoutConfig
	Queue     options.Queue
	Retry     configretry.BackOffConfig
	Telemetry *Telemetry

	Start component.StartFunc
	// Shutdown is called once, also where Start was not.
	Shutdown component.ShutdownFunc
	// Consume takes one request, concurrently with others. It only reads the profiles. An error that is not permanent makes
	// the request come again; Deliver makes errors that leave out what was done.
	Consume xconsumer.ConsumeProfilesFunc
	// DrainTime is how long Shutdown works on a queue in memory. What is left in it is lost, and counted as not sent.
	DrainTime time.Duration
}

// NewExporter makes an exporter with the helper of the Collector.
func NewExporter(ctx context.Context, set exporter.Settings, cfg component.Config, s Settings) (e *Exporter, err error) {
	e = &Exporter{consume: s.Consume, telemetry: s.Telemetry, drainTime: s.DrainTime}
	e.drained, e.endDrain = context.WithCancelCause(context.Background())
	if queue := s.Queue.Get(); queue != nil {
		e.inMemory = queue.StorageID == nil && !queue.WaitForResult
		if queue.Sizer == exporterhelper.RequestSizerTypeBytes {
			e.queueBytes = queue.QueueSize
		}
	}
	e.Profiles, err = xexporterhelper.NewProfiles(ctx, set, cfg, e.consumer(),
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(s.Timeout),
		exporterhelper.WithRetry(s.Retry),
		exporterhelper.WithQueue(s.Queue),
		exporterhelper.WithStart(s.Start),
		exporterhelper.WithShutdown(s.Shutdown),
	)
	return e, err
}

// Start begins with the budget, which requests need from the start of the queue on.
func (e *Exporter) Start(ctx context.Context, host component.Host) (err error) {
	if e.budget, err = budget.Of(host); err != nil {
		return err
	}
	e.queued = budget.New(e.budget.Size()/queuedPart, 0)
	return e.Profiles.Start(ctx, host)
}

// ConsumeProfiles refuses for good what is larger than the queue, which the helper would have repeated for ever, or than
// the budget.
func (e *Exporter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	held, err := e.hold(ctx, pd)
	if err != nil {
		return e.refuse(ctx, pd, fmt.Errorf("cannot hold a request: %w", err))
	}
	if e.inMemory && held.queued == nil {
		defer giveBack(ctx, held.memory)
		return e.consume(context.WithValue(ctx, heldKey{}, held), pd)
	}
	err = e.Profiles.ConsumeProfiles(context.WithValue(ctx, heldKey{}, held), pd)
	if err != nil || !e.inMemory {
		held.queued.Release()
		giveBack(ctx, held.memory)
	}
	if err == nil || e.queueBytes == 0 || consumererror.IsPermanent(err) {
		return err
	}
	sizer := pprofile.ProtoMarshaler{}
	if size := int64(sizer.ProfilesSize(pd)); size > e.queueBytes {
		err = consumererror.NewPermanent(fmt.Errorf("request has %d bytes, sending_queue::queue_size is %d: %w", size, e.queueBytes, err))
	}
	return err
}

// ReserveCopy reserves the memory of a copy of a message. Without a reservation or an error it has not started.
func (e *Exporter) ReserveCopy(ctx context.Context, pd pprofile.Profiles) (*budget.Reservation, error) {
	if e.budget == nil {
		return nil, nil //nolint:nilnil // the helper says so
	}
	return e.budget.Reserve(ctx, messageBytes(pd))
}

// refuse counts a request that can never be held.
func (e *Exporter) refuse(ctx context.Context, pd pprofile.Profiles, err error) error {
	if !errors.Is(err, budget.ErrTooLarge) {
		return err
	}
	r := &Refusal{Reason: ReasonTooLarge, Profiles: pd.ProfileCount(), Err: err, services: map[string]int{}}
	for i, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			r.services[serviceOf(pd, i)] += scope.Profiles().Len()
		}
	}
	e.telemetry.Refused(ctx, r)
	return consumererror.NewPermanent(err)
}

// queuedPart is the part of the budget, one in so many, that requests in a queue in memory may have.
const queuedPart = 4

// heldMemory is what is reserved for a request: its memory, and its part of the queue, nil for one that is too large for it
// and is written while its caller waits.
type heldMemory struct{ memory, queued *budget.Reservation }

type heldKey struct{}

// hold takes the memory of a message over from the reservation of its caller, and reserves what that does not have.
func (e *Exporter) hold(ctx context.Context, pd pprofile.Profiles) (h heldMemory, err error) {
	if e.budget == nil {
		return h, nil // It has not started; the helper says so.
	}
	bytes := messageBytes(pd)
	if e.inMemory && bytes <= e.queued.Size() {
		if h.queued, err = e.queued.Reserve(ctx, bytes); err != nil {
			return h, fmt.Errorf("requests in the queue have their part of the memory: %w", err)
		}
	}
	if h.memory = budget.FromContext(ctx).Take(bytes); h.memory == nil {
		h.memory, err = e.budget.Reserve(ctx, bytes)
	} else if err = h.memory.Grow(ctx, bytes); err != nil {
		giveBack(ctx, h.memory)
	}
	if err != nil {
		h.queued.Release()
	}
	return h, err
}

// giveBack returns what was held to the caller, who may need it for another attempt or another exporter.
func giveBack(ctx context.Context, held *budget.Reservation) {
	if caller := budget.FromContext(ctx); caller != nil {
		caller.Add(held)
	} else {
		held.Release()
	}
}

// consumer returns what the helper calls with each request. What is held for a request out of memory is given back once
// that is done. One that comes again keeps it; if it is given up in the meantime, the garbage collector gives it back.
func (e *Exporter) consumer() func(context.Context, pprofile.Profiles) error {
	if !e.inMemory {
		return e.consume
	}
	return func(ctx context.Context, pd pprofile.Profiles) error {
		working, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(e.drained, func() { cancel(errShutdown) })()
		err := e.consume(working, pd)
		if h, is := ctx.Value(heldKey{}).(heldMemory); is && (err == nil || consumererror.IsPermanent(err)) {
			h.queued.Release()
			h.memory.Release()
		}
		return err
	}
}

// Shutdown may be called again; the helper's would panic.
func (e *Exporter) Shutdown(ctx context.Context) error {
	e.once.Do(func() {
		defer time.AfterFunc(e.drainTime, func() { e.endDrain(errShutdown) }).Stop()
		e.err = e.Profiles.Shutdown(ctx)
		e.endDrain(errShutdown)
	})
	return e.err
}
