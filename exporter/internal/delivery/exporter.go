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
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// Exporter wraps an exporter of exporterhelper.
type Exporter struct {
	xexporter.Profiles
	// counter counts what is exported beside the queue, as exporterhelper counts the rest.
	counter  xexporter.Profiles
	settings Settings
	budget   *memory.Budget
	queued   queued
	// drained ends when Shutdown has processed the queue, or DrainTime after it has begun.
	drained      context.Context
	endDrain     context.CancelCauseFunc
	shutdownOnce sync.Once
	shutdownErr  error
}

// errShutdown is the error of requests that are left in a queue in memory.
var errShutdown = errors.New("the exporter is shutting down")

// errQueueFull is the error of a request for which the part of the memory budget that a queue in memory has is in use. It does not
// wrap [memory.ErrExhausted]: the destination is too slow or unavailable, and more memory would not help for long.
var errQueueFull = errors.New("sending_queue is full")

// Settings are the settings that differ between exporters.
type Settings struct {
	Timeout   exporterhelper.TimeoutConfig
	Queue     options.Queue
	Retry     configretry.BackOffConfig
	Telemetry *Telemetry

	Start component.StartFunc
	// Shutdown is called once, even if Start was not called.
	Shutdown component.ShutdownFunc
	// Consume exports one request. It must be safe for concurrent use and must not change the profiles. After a retryable
	// error, the request is retried. If the error contains profiles, as that of [Deliver] does, only those are retried.
	Consume xconsumer.ConsumeProfilesFunc
	// Local says that the destination is this process or its disk. While the queue in memory uses its part of the budget, ordinary requests are
	// exported beside it, so that they do not wait for the work on all others.
	Local bool
	// DrainTime is how long Shutdown works on a queue in memory. The requests that are left are lost, and counted as not sent.
	DrainTime time.Duration
}

// NewExporter returns an exporter that uses exporterhelper for timeout, queue and retry.
func NewExporter(ctx context.Context, set exporter.Settings, s Settings) (e *Exporter, err error) {
	e = &Exporter{settings: s}
	e.queued.held = map[*memory.Reservation]held{}
	e.drained, e.endDrain = context.WithCancelCause(context.Background())
	e.Profiles, err = xexporterhelper.NewProfilesRequest(ctx, set, newRequest, e.export,
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(s.Timeout),
		exporterhelper.WithRetry(s.Retry),
		xexporterhelper.WithQueueBatch(s.Queue, xexporterhelper.QueueBatchSettings{Encoding: requestEncoding{}, ReferenceCounter: &e.queued}),
		exporterhelper.WithStart(s.Start),
		exporterhelper.WithShutdown(s.Shutdown),
	)
	if err != nil {
		return nil, err
	}
	e.counter, err = xexporterhelper.NewProfilesRequest(ctx, set, newRequest, func(context.Context, xexporterhelper.Request) error { return nil })
	return e, err
}

func newRequest(ctx context.Context, pd pprofile.Profiles) (xexporterhelper.Request, error) {
	return &request{profiles: pd, reservation: memory.FromContext(ctx)}, nil
}

// Start finds the budget before it starts the queue, since the queue may export at once.
func (e *Exporter) Start(ctx context.Context, host component.Host) (err error) {
	if e.budget, err = memory.Of(host); err != nil {
		return err
	}
	e.queued.share.Limit(e.budget, e.budget.Size()/queuedPart)
	return e.Profiles.Start(ctx, host)
}

// queuedPart: one part in queuedPart of the budget is for requests in a queue in memory. A part of that is kept for ordinary requests.
const queuedPart = 4

// ConsumeProfiles passes a request to exporterhelper. If the request is larger than the queue or the budget, the error is permanent: the
// error of exporterhelper for such a request is retryable, and the sender would retry forever.
func (e *Exporter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	pd = dedup.ResolveReferences(pd)
	ctx, reservation, err := e.budget.Message(ctx, pd)
	if err != nil {
		return e.refuse(ctx, pd, fmt.Errorf("cannot hold a request: %w", err))
	}
	defer reservation.Release()
	if e.budget == nil {
		return e.Profiles.ConsumeProfiles(ctx, pd) // It was not started, which exporterhelper reports.
	}
	queue := e.settings.Queue.Get()
	switch {
	case queue == nil || queue.StorageID != nil:
	case queue.WaitForResult:
		ctx = context.WithoutCancel(ctx) // If the sender leaves, its request is still in the queue, and needs its reservation.
	case !e.queued.fits(reservation): // It stays in memory after this call.
		bytes, share := reservation.Bytes(), &e.queued.share
		most := share.Most(bytes)
		if bytes > most || e.settings.Local && share.Keeps(bytes) {
			return e.exportNow(ctx, pd)
		}
		return fmt.Errorf("%w: its requests use their part of the memory budget, %d bytes", errQueueFull, most)
	}
	err = e.Profiles.ConsumeProfiles(ctx, pd)
	if given, found := errors.AsType[*givenBack](err); found {
		return given.error
	}
	if err == nil || queue == nil || queue.Sizer != exporterhelper.RequestSizerTypeBytes || consumererror.IsPermanent(err) {
		return err
	}
	sizer := pprofile.ProtoMarshaler{}
	if size := int64(sizer.ProfilesSize(pd)); size > queue.QueueSize {
		err = consumererror.NewPermanent(fmt.Errorf("request has %d bytes, sending_queue::queue_size is %d: %w", size, queue.QueueSize, err))
	}
	return err
}

// BeginCopy reserves the memory of a copy of a message. The caller must release the reservation.
func (e *Exporter) BeginCopy(ctx context.Context, pd pprofile.Profiles) (*memory.Reservation, error) {
	both := e.budget.Beside(ctx)
	err := both.Grow(ctx, dictionary.MessageMemory(pd))
	return both, err
}

// refuse counts a request that is larger than the budget, and returns a permanent error for it. It returns other errors
// unchanged.
func (e *Exporter) refuse(ctx context.Context, pd pprofile.Profiles, err error) error {
	if !errors.Is(err, memory.ErrTooLarge) {
		return err
	}
	r := &Refusal{Reason: ReasonTooLarge, Err: err, services: map[string]int{}}
	for i, resource := range pd.ResourceProfiles().All() {
		service := serviceOf(pd, i)
		for _, scope := range resource.ScopeProfiles().All() {
			r.services[service] += scope.Profiles().Len()
		}
	}
	e.settings.Telemetry.refused(ctx, r)
	return consumererror.NewPermanent(err)
}

// export exports a request of exporterhelper. The sender of one from a queue on disk has its answer.
func (e *Exporter) export(ctx context.Context, r xexporterhelper.Request) error {
	one := r.(*request)
	reservation := one.reservation
	if reservation == nil {
		reservation = e.budget.Begin().Accept()
		defer reservation.Release()
		if err := reservation.Grow(ctx, memory.MessageFactor*dictionary.MessageMemory(one.profiles)); err != nil {
			return e.refuse(ctx, one.profiles, fmt.Errorf("cannot hold a request: %w", err))
		}
	}
	err := e.exportUntilDrained(memory.NewContext(ctx, reservation), one.profiles)
	if e.settings.Queue.Get() == nil && errors.Is(err, memory.ErrExhausted) {
		return consumererror.NewPermanent(&givenBack{err})
	}
	return err
}

// givenBack is the error of a request without a queue for which no memory was free. Its sender tries again, and exporterhelper does not:
// while it waited, the message would keep the memory that others wait for.
type givenBack struct{ error }

// Unwrap returns the error that the sender gets.
func (g *givenBack) Unwrap() error { return g.error }

// exportNow exports a request beside the queue: exporterhelper neither sets the timeout nor counts it. An error is not counted, because the
// sender gets it.
func (e *Exporter) exportNow(ctx context.Context, pd pprofile.Profiles) error {
	if timeout := e.settings.Timeout.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if err := e.exportUntilDrained(ctx, pd); err != nil {
		return err
	}
	return e.counter.ConsumeProfiles(ctx, pd)
}

// exportUntilDrained exports a request. The end of the drain ends it.
func (e *Exporter) exportUntilDrained(ctx context.Context, pd pprofile.Profiles) error {
	if e.drained.Err() != nil {
		return errShutdown
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.drained, func() { cancel(errShutdown) })() //nolint:contextcheck // the drain ends the request
	return e.settings.Consume(working, pd)
}

// Shutdown exports the requests in a queue in memory for at most DrainTime, and stops the exporter. It may be called several times:
// the Shutdown of exporterhelper would panic.
func (e *Exporter) Shutdown(ctx context.Context) error {
	e.shutdownOnce.Do(func() {
		defer time.AfterFunc(e.settings.DrainTime, func() { e.endDrain(errShutdown) }).Stop()
		e.shutdownErr = e.Profiles.Shutdown(ctx)
		e.endDrain(errShutdown)
	})
	return e.shutdownErr
}
