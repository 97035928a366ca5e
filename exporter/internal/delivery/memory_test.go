// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// newExporter starts an exporter whose memory is that of a budget.
func newExporter(t *testing.T, budget *memory.Budget, settings delivery.Settings) *delivery.Exporter {
	t.Helper()
	e := must.Get(delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), settings))(t)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(budget)))
	return e
}

// shutdown stops an exporter, after which none of the budget is in use.
func shutdown(t *testing.T, e *delivery.Exporter, budget *memory.Budget) {
	t.Helper()
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Zero(t, used(budget))
}

func used(budget *memory.Budget) int64 {
	bytes, _ := budget.Used()
	return bytes
}

// TestHeldMemory: the reservation of a queued request is for its memory, not for its size in protobuf, which is an eighth of that
// for values of 0. All is free again once the request was exported.
func TestHeldMemory(t *testing.T) {
	const values = 1 << 16
	pd := message(8 * values)
	held := make(chan int64, 1)
	budget := memory.New(64<<20, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), Retry: configretry.NewDefaultBackOffConfig(), DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error {
			held <- used(budget)
			return nil
		},
	})
	require.NoError(t, e.ConsumeProfiles(t.Context(), pd))
	bytes := <-held
	assert.GreaterOrEqual(t, bytes, int64(16*values))
	assert.Less(t, bytes, int64(20*values))
	shutdown(t, e, budget)
}

// TestSenderLeaves: the request of a sender that leaves stays in the queue. Its memory stays reserved until it has been exported.
func TestSenderLeaves(t *testing.T) {
	const bytes = 1 << 20
	queue := options.NewDefaultQueue()
	queue.Get().WaitForResult, queue.Get().NumConsumers = true, 1
	begun, end := make(chan struct{}, 2), make(chan struct{})
	budget := memory.New(64<<20, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: queue, DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error {
			begun <- struct{}{}
			<-end
			return nil
		},
	})
	results := make(chan error, 2)
	go func() { results <- e.ConsumeProfiles(t.Context(), message(1)) }()
	<-begun
	ctx, leave := context.WithCancel(t.Context())
	go func() { results <- e.ConsumeProfiles(ctx, message(bytes)) }()
	assert.Eventually(t, func() bool { return used(budget) >= bytes }, deliverytest.Patience, time.Millisecond)
	leave()
	time.Sleep(10 * time.Millisecond)
	assert.Empty(t, results)
	assert.GreaterOrEqual(t, used(budget), int64(bytes), "the request is still in the queue")
	close(end)
	require.NoError(t, <-results)
	require.NoError(t, <-results)
	shutdown(t, e, budget)
}

// message returns a message whose values take this many bytes of memory.
func message(bytes int) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	sample := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()
	sample.Values().FromRaw(make([]int64, bytes/8))
	return pd
}

// TestQueueIsFull: while the destination is away, the requests in the queue use a quarter of the budget, large ones seven eighths of that.
// The error for another one is retryable. It is not that of an exhausted budget, for which a receiver would ask the operator for more
// memory. An ordinary request still has a place.
func TestQueueIsFull(t *testing.T) {
	const size = 1 << 20
	end := make(chan struct{})
	budget := memory.New(64*size, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), Retry: configretry.NewDefaultBackOffConfig(), DrainTime: time.Minute,
		Consume: func(context.Context, pprofile.Profiles) error {
			<-end
			return nil
		},
	})
	var err error
	accepted := 0
	for err == nil && accepted < 64 {
		if err = e.ConsumeProfiles(t.Context(), message(size+size/4)); err == nil {
			accepted++
		}
	}
	require.ErrorContains(t, err, "sending_queue is full: its requests use their part of the memory budget, 14680064 bytes")
	require.NotErrorIs(t, err, memory.ErrExhausted)
	assert.False(t, consumererror.IsPermanent(err))
	assert.Greater(t, accepted, 4)
	assert.LessOrEqual(t, used(budget), int64(14*size))
	require.NoError(t, e.ConsumeProfiles(t.Context(), message(size/4)))
	close(end)
	shutdown(t, e, budget)
}

// TestBesideAFullQueue: while requests to a local destination use the part of the queue, an ordinary one is exported beside them. Its sender waits
// for it, and gets its error. It counts as the others do. A large one is refused.
func TestBesideAFullQueue(t *testing.T) {
	const size, queued, beside = 1 << 20, 12, 8
	end := make(chan struct{})
	var begun atomic.Int64
	telemetry := componenttest.NewTelemetry()
	defer func() { require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context()))) }()
	set := exportertest.NewNopSettings(component.MustNewType("test"))
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	away := errors.New("the disk is away")
	e := must.Get(delivery.NewExporter(t.Context(), set, delivery.Settings{
		Queue: options.NewDefaultQueue(), Local: true, DrainTime: time.Minute,
		Timeout: exporterhelper.TimeoutConfig{Timeout: time.Minute},
		Consume: func(ctx context.Context, pd pprofile.Profiles) error {
			_, limited := ctx.Deadline()
			assert.True(t, limited)
			if pd.SampleCount() > 1 {
				return away
			}
			begun.Add(1)
			<-end
			return nil
		},
	}))(t)
	budget := memory.New(64*size, time.Second)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(budget)))
	for range queued {
		require.NoError(t, e.ConsumeProfiles(t.Context(), message(size/2)))
	}
	require.ErrorContains(t, e.ConsumeProfiles(t.Context(), message(2*size)), "sending_queue is full")
	others := make(chan error)
	for range beside { // Some fit into the queue.
		go func() { others <- e.ConsumeProfiles(t.Context(), message(size/2)) }()
	}
	assert.Eventually(t, func() bool { return begun.Load() > 4 }, deliverytest.Patience, time.Millisecond, "more than the queue has consumers")
	failing := message(size / 2)
	failing.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().AppendEmpty()
	require.ErrorIs(t, e.ConsumeProfiles(t.Context(), failing), away)
	close(end)
	for range beside {
		require.NoError(t, <-others)
	}
	shutdown(t, e, budget)
	assert.EqualValues(t, queued+beside, deliverytest.Counted(t, telemetry, "otelcol_exporter_sent_profile_samples", "", ""))
	assert.Zero(t, deliverytest.Counted(t, telemetry, "otelcol_exporter_send_failed_profile_samples", "", ""))
}

// TestPartsInAQueue: each part of a message that was split counts in the queue, and has its memory until it was exported. The parts may have
// more than the message.
func TestPartsInAQueue(t *testing.T) {
	const size = 1 << 20
	var end sync.WaitGroup
	end.Add(1)
	budget := memory.New(64*size, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), Retry: configretry.NewDefaultBackOffConfig(), DrainTime: time.Minute,
		Consume: func(context.Context, pprofile.Profiles) error {
			end.Wait()
			return nil
		},
	})
	whole := must.Get(budgettest.Reserve(t.Context(), budget, 8*size))(t)
	ctx := memory.NewContext(t.Context(), whole)
	parts := memory.Parts{Profiles: e, Kept: size}
	accepted := 0
	var err error
	for ; err == nil && accepted < 100; accepted++ {
		err = parts.ConsumeProfiles(ctx, message(size))
	}
	require.ErrorContains(t, err, "sending_queue is full")
	assert.InDelta(t, 8, accepted, 1, "a quarter of the budget, 2 MiB each")
	assert.Equal(t, int64(size), whole.Bytes(), "what is left of the message")
	whole.Release()
	assert.GreaterOrEqual(t, used(budget), int64(14*size))
	end.Done()
	shutdown(t, e, budget)
}

// TestWithoutRetries: a request that failed and is not retried is lost. Its memory is free at once, without a garbage collection.
func TestWithoutRetries(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	budget := memory.New(64<<20, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error { return errors.New("the destination is away") },
	})
	for range 20 {
		require.NoError(t, e.ConsumeProfiles(t.Context(), message(1<<10)))
	}
	shutdown(t, e, budget)
}

// TestExhaustedWithoutAQueue: a request without a queue keeps its memory and its sender only for one attempt if there is no memory for the
// work on it.
func TestExhaustedWithoutAQueue(t *testing.T) {
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval, retry.MaxElapsedTime = time.Millisecond, time.Second
	attempts := 0
	budget := memory.New(64<<20, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Retry: retry,
		Consume: func(context.Context, pprofile.Profiles) error {
			attempts++
			return fmt.Errorf("cannot encode: %w", memory.ErrExhausted)
		},
	})
	err := e.ConsumeProfiles(t.Context(), message(1<<10))
	require.ErrorIs(t, err, memory.ErrExhausted)
	assert.False(t, consumererror.IsPermanent(err), "its sender tries again")
	assert.Equal(t, 1, attempts)
	shutdown(t, e, budget)
}

// TestTwoPipelines: a message that two pipelines pass to one exporter fits twice, although twice its memory exceeds the share. A refusal
// of the second would repeat the first with each retry.
func TestTwoPipelines(t *testing.T) {
	const size = 1 << 20
	end := make(chan struct{})
	budget := memory.New(16*size, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), DrainTime: time.Minute,
		Consume: func(context.Context, pprofile.Profiles) error {
			<-end
			return nil
		},
	})
	r := must.Get(budgettest.Reserve(t.Context(), budget, 3*size))(t) // The share is a quarter of the budget.
	ctx := memory.NewContext(t.Context(), r)
	require.NoError(t, e.ConsumeProfiles(ctx, message(1)))
	require.NoError(t, e.ConsumeProfiles(ctx, message(1)), "the other pipeline")
	other := must.Get(budgettest.Reserve(t.Context(), budget, size))(t)
	require.ErrorContains(t, e.ConsumeProfiles(memory.NewContext(t.Context(), other), message(1)), "sending_queue is full")
	r.Release()
	other.Release()
	close(end)
	require.NoError(t, e.Shutdown(t.Context()))
	require.Zero(t, used(budget))
}

// TestShareIsGivenBack: a request gives back the share of the queue that it got, although others have changed its reservation meanwhile.
func TestShareIsGivenBack(t *testing.T) {
	const size = 1 << 20
	begun, end := make(chan struct{}), make(chan struct{})
	budget := memory.New(16*size, time.Second)
	e := newExporter(t, budget, delivery.Settings{
		Queue: options.NewDefaultQueue(), DrainTime: time.Minute,
		Consume: func(context.Context, pprofile.Profiles) error {
			begun <- struct{}{}
			<-end
			return nil
		},
	})
	for range 8 { // A quarter of the budget is four of them.
		r := must.Get(budgettest.Reserve(t.Context(), budget, size))(t)
		require.NoError(t, e.ConsumeProfiles(memory.NewContext(t.Context(), r), message(1)))
		<-begun
		r.Shrink(1)
		r.Release()
		end <- struct{}{}
		require.Eventually(t, func() bool { return used(budget) == 0 }, deliverytest.Patience, time.Millisecond)
	}
	require.NoError(t, e.Shutdown(t.Context()))
}
