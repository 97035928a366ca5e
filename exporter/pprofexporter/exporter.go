// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
)

// profilesExporter adds to the helper's exporter that a request has a reservation for as long as it is in memory, also in
// the queue.
type profilesExporter struct {
	xexporter.Profiles
	telemetry *telemetry
	budget    *budget.Budget
	// queueBytes is the size of a queue that is bounded by bytes, else 0.
	queueBytes int64
	// inMemory says that a request stays in memory after ConsumeProfiles has returned.
	inMemory bool
	once     sync.Once
	err      error
}

// newProfilesExporter takes the configuration of the queue, nil without one.
func newProfilesExporter(queue *exporterhelper.QueueBatchConfig, telemetry *telemetry) *profilesExporter {
	e := &profilesExporter{telemetry: telemetry}
	if queue != nil {
		e.inMemory = queue.StorageID == nil && !queue.WaitForResult
		if queue.Sizer == exporterhelper.RequestSizerTypeBytes {
			e.queueBytes = queue.QueueSize
		}
	}
	return e
}

// Start begins with the budget, which requests need from the start of the queue on.
func (e *profilesExporter) Start(ctx context.Context, host component.Host) (err error) {
	if e.budget, err = budget.Of(host); err != nil {
		return err
	}
	return e.Profiles.Start(ctx, host)
}

// ConsumeProfiles refuses for good what is larger than the queue, which the helper would have repeated for ever, or than
// the budget.
func (e *profilesExporter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	held, err := e.hold(ctx, pd)
	if err != nil {
		return e.refuse(ctx, pd, fmt.Errorf("cannot hold a request: %w", err))
	}
	err = e.Profiles.ConsumeProfiles(context.WithValue(ctx, heldKey{}, held), pd)
	if err != nil || !e.inMemory {
		giveBack(ctx, held)
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

// refuse counts a request that can never be held.
func (e *profilesExporter) refuse(ctx context.Context, pd pprofile.Profiles, err error) error {
	if !errors.Is(err, budget.ErrTooLarge) {
		return err
	}
	e.telemetry.refused(ctx, &refusal{reason: refusedTooLarge, profiles: pd.ProfileCount(), err: err})
	return consumererror.NewPermanent(err)
}

type heldKey struct{}

// hold takes the memory of a message over from the reservation of its caller, and reserves what that does not have.
func (e *profilesExporter) hold(ctx context.Context, pd pprofile.Profiles) (*budget.Reservation, error) {
	if e.budget == nil {
		return nil, nil // It has not started; the helper says so.
	}
	bytes := messageBytes(pd)
	held := budget.FromContext(ctx).Take(bytes)
	if held == nil {
		return e.budget.Reserve(ctx, bytes)
	}
	if err := held.Grow(ctx, bytes); err != nil {
		giveBack(ctx, held)
		return nil, err
	}
	return held, nil
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
func (e *profilesExporter) consumer(d destination) func(context.Context, pprofile.Profiles) error {
	if !e.inMemory {
		return d.consume
	}
	return func(ctx context.Context, pd pprofile.Profiles) error {
		err := d.consume(ctx, pd)
		if held, is := ctx.Value(heldKey{}).(*budget.Reservation); is && (err == nil || consumererror.IsPermanent(err)) {
			held.Release()
		}
		return err
	}
}

// Shutdown may be called again; the helper's would panic.
func (e *profilesExporter) Shutdown(ctx context.Context) error {
	e.once.Do(func() { e.err = e.Profiles.Shutdown(ctx) })
	return e.err
}
