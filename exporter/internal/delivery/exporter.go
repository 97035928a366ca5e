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
	"github.com/otelpprof/otelpprof/internal/messagememory"
)

// Exporter wraps an exporter of exporterhelper. It keeps a reservation for each request as long as the request is in memory,
// also in the queue.
type Exporter struct {
	xexporter.Profiles
	telemetry *Telemetry
	budget    *budget.Budget
	// queueBytes is the limit of a queue that is limited in bytes, or else 0.
	queueBytes int64
	consume    xconsumer.ConsumeProfilesFunc
	// timeout limits one attempt. 0 means no limit.
	timeout time.Duration
	// inMemory reports whether a request stays in memory after ConsumeProfiles has returned. Such requests also reserve from
	// queued. It is only a part of the budget, so that the rest stays free for requests that are being processed.
	inMemory bool
	queued   *budget.Budget
	// retries reports whether exporterhelper calls the consumer again with a request that failed.
	retries bool
	// waits reports whether ConsumeProfiles waits for the result of a request in a queue in memory.
	waits bool
	// drainTime is how long Shutdown processes the queue. Then drained ends.
	drainTime    time.Duration
	drained      context.Context
	endDrain     context.CancelCauseFunc
	shutdownOnce sync.Once
	shutdownErr  error
}

// errShutdown is the error of requests that are left in a queue in memory.
var errShutdown = errors.New("the exporter is shutting down")

// errQueueFull is the error of a request for which the part of the memory budget that a queue in memory has is in use. It does not
// wrap [budget.ErrExhausted]: the destination is too slow or unavailable, and more memory would not help for long.
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
	// DrainTime is how long Shutdown works on a queue in memory. The requests that are left are lost, and counted as not sent.
	DrainTime time.Duration
}

// NewExporter returns an exporter that uses exporterhelper for timeout, queue and retry.
func NewExporter(ctx context.Context, set exporter.Settings, cfg component.Config, s Settings) (e *Exporter, err error) {
	e = &Exporter{consume: s.Consume, timeout: s.Timeout.Timeout, telemetry: s.Telemetry, drainTime: s.DrainTime, retries: s.Retry.Enabled}
	e.drained, e.endDrain = context.WithCancelCause(context.Background())
	if queue := s.Queue.Get(); queue != nil {
		e.inMemory = queue.StorageID == nil && !queue.WaitForResult
		e.waits = queue.StorageID == nil && queue.WaitForResult
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

// Start finds the budget before it starts the queue, since the queue may call Consume at once.
func (e *Exporter) Start(ctx context.Context, host component.Host) (err error) {
	if e.budget, err = budget.Of(host); err != nil {
		return err
	}
	e.queued = budget.New(e.budget.Size()/queuedPart, 0)
	return e.Profiles.Start(ctx, host)
}

// ConsumeProfiles reserves the memory of a request and passes it to exporterhelper. If the request is larger than the queue
// or the budget, the error is permanent: the error of exporterhelper for such a request is retryable, and the sender would
// retry forever.
func (e *Exporter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	held, err := e.hold(ctx, pd)
	if err != nil {
		return e.refuse(ctx, pd, fmt.Errorf("cannot hold a request: %w", err))
	}
	if e.inMemory && held.queued == nil {
		defer returnMemory(ctx, held.memory)
		return e.consumeNow(context.WithValue(ctx, heldKey{}, held), pd)
	}
	err = e.Profiles.ConsumeProfiles(context.WithValue(ctx, heldKey{}, held), pd)
	switch {
	case err != nil && e.waits && ctx.Err() != nil:
		// The sender has left, but the request may still be in the queue, whose context keeps the reservation. The garbage
		// collector releases it with the request.
	case err != nil || !e.inMemory:
		held.queued.Release()
		returnMemory(ctx, held.memory)
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

// ReserveCopy reserves the memory of a copy of a message. The caller must release the reservation. Before Start it returns nil and no
// error.
func (e *Exporter) ReserveCopy(ctx context.Context, pd pprofile.Profiles) (*budget.Reservation, error) {
	if e.budget == nil {
		return nil, nil //nolint:nilnil // exporterhelper returns the error
	}
	return e.budget.Reserve(ctx, messagememory.AtMost(pd))
}

// refuse counts a request that is larger than the budget, and returns a permanent error for it. It returns other errors
// unchanged.
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

// queuedPart: one part in queuedPart of the budget is for requests in a queue in memory.
const queuedPart = 4

// heldMemory has the reservations of a request: memory is from the budget of the process, queued from that of the queue.
// queued is nil for a request that does not go to the queue, because it is too large: it is exported while its caller waits.
type heldMemory struct{ memory, queued *budget.Reservation }

type heldKey struct{}

// hold takes the memory of a message from the reservation of the caller, and reserves what that reservation does not have.
func (e *Exporter) hold(ctx context.Context, pd pprofile.Profiles) (h heldMemory, err error) {
	if e.budget == nil {
		return h, nil // The exporter was not started; exporterhelper returns the error.
	}
	bytes := messagememory.AtMost(pd)
	if e.inMemory && bytes <= e.queued.Size() {
		if h.queued, err = e.queued.Reserve(ctx, bytes); err != nil {
			if errors.Is(err, budget.ErrExhausted) {
				err = fmt.Errorf("%w: its requests use their part of the memory budget, %d bytes", errQueueFull, e.queued.Size())
			}
			return h, err
		}
	}
	if h.memory = budget.FromContext(ctx).Take(bytes); h.memory == nil {
		h.memory, err = e.budget.Reserve(ctx, bytes)
	} else if err = h.memory.Grow(ctx, bytes); err != nil {
		returnMemory(ctx, h.memory)
	}
	if err != nil {
		h.queued.Release()
	}
	return h, err
}

// returnMemory gives a reservation back to the caller, which may need it for another attempt or another exporter.
func returnMemory(ctx context.Context, held *budget.Reservation) {
	if caller := budget.FromContext(ctx); caller != nil {
		caller.Add(held)
	} else {
		held.Release()
	}
}

// consumer returns the function that exporterhelper calls with each request. For a queue in memory, it releases the
// reservations of a request after success or an error that is not retried. A request that is retried keeps them. If
// exporterhelper gives up retrying, the garbage collector releases them.
func (e *Exporter) consumer() func(context.Context, pprofile.Profiles) error {
	if !e.inMemory {
		return e.consume
	}
	return func(ctx context.Context, pd pprofile.Profiles) error {
		err := e.consumeUntilDrained(ctx, pd)
		if h, found := ctx.Value(heldKey{}).(heldMemory); found && (err == nil || !e.retries || consumererror.IsPermanent(err)) {
			h.queued.Release()
			h.memory.Release()
		}
		return err
	}
}

// consumeNow exports a request that did not go through exporterhelper, which would have set the timeout.
func (e *Exporter) consumeNow(ctx context.Context, pd pprofile.Profiles) error {
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	return e.consumeUntilDrained(ctx, pd)
}

// consumeUntilDrained exports a request. The end of the drain ends it.
func (e *Exporter) consumeUntilDrained(ctx context.Context, pd pprofile.Profiles) error {
	if e.drained.Err() != nil {
		return errShutdown
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.drained, func() { cancel(errShutdown) })() //nolint:contextcheck // the drain ends the request
	return e.consume(working, pd)
}

// Shutdown exports the requests in a queue in memory for at most DrainTime, and stops the exporter. It may be called several times:
// the Shutdown of exporterhelper would panic.
func (e *Exporter) Shutdown(ctx context.Context) error {
	e.shutdownOnce.Do(func() {
		defer time.AfterFunc(e.drainTime, func() { e.endDrain(errShutdown) }).Stop()
		e.shutdownErr = e.Profiles.Shutdown(ctx)
		e.endDrain(errShutdown)
	})
	return e.shutdownErr
}
