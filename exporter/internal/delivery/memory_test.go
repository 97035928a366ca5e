// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/budgettest"
)

// TestHeldMemory: the reservation of a queued request is for its memory, not for its size in protobuf, which is an eighth of that
// for values of 0. All is free again once the request was exported.
func TestHeldMemory(t *testing.T) {
	const values = 1 << 16
	pd := message(8 * values)
	memory := budget.New(64<<20, time.Second)
	held := make(chan int64, 1)
	e, err := delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), &struct{}{}, delivery.Settings{
		Queue: options.NewDefaultQueue(), Retry: configretry.NewDefaultBackOffConfig(), DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error {
			used, _ := memory.Used()
			held <- used
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(memory)))
	require.NoError(t, e.ConsumeProfiles(t.Context(), pd))
	used := <-held
	assert.GreaterOrEqual(t, used, int64(8*values))
	assert.Less(t, used, int64(16*values))
	require.NoError(t, e.Shutdown(t.Context()))
	used, _ = memory.Used()
	assert.Zero(t, used)
}

// TestSenderLeaves: a request stays in the queue when its sender does not wait for the result any longer. Its memory stays reserved
// until the queue has dropped it.
func TestSenderLeaves(t *testing.T) {
	const bytes = 1 << 20
	pd := message(bytes)
	queue := options.NewDefaultQueue()
	queue.Get().WaitForResult, queue.Get().NumConsumers = true, 1
	begun, end := make(chan struct{}), make(chan struct{})
	e, err := delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), &struct{}{}, delivery.Settings{
		Queue: queue, DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error {
			close(begun)
			<-end
			return nil
		},
	})
	require.NoError(t, err)
	memory := budget.New(64<<20, time.Second)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(memory)))
	used := func() int64 { used, _ := memory.Used(); return used }
	callers, err := memory.Reserve(t.Context(), 2*bytes)
	require.NoError(t, err)
	first := make(chan error)
	go func() { first <- e.ConsumeProfiles(t.Context(), message(1)) }()
	<-begun
	ctx, leave := context.WithTimeout(budget.NewContext(t.Context(), callers), time.Millisecond)
	defer leave()
	require.ErrorIs(t, e.ConsumeProfiles(ctx, pd), context.DeadlineExceeded)
	callers.Release()
	runtime.GC()
	assert.GreaterOrEqual(t, used(), int64(bytes), "the request is still in memory")
	close(end)
	require.NoError(t, <-first)
	require.NoError(t, e.Shutdown(t.Context()))
	require.Eventually(t, func() bool {
		runtime.GC()
		return used() == 0
	}, deliverytest.Patience, 10*time.Millisecond)
}

// message returns a message whose values take this many bytes of memory.
func message(bytes int) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	sample := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()
	sample.Values().FromRaw(make([]int64, bytes/8))
	return pd
}

// TestQueueIsFull: while the destination is away, the requests in the queue use a quarter of the budget. The error for another one is
// retryable. It is not that of an exhausted budget, for which a receiver would ask the operator for more memory.
func TestQueueIsFull(t *testing.T) {
	const size = 1 << 20
	end := make(chan struct{})
	e, err := delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), &struct{}{}, delivery.Settings{
		Queue: options.NewDefaultQueue(), Retry: configretry.NewDefaultBackOffConfig(), DrainTime: time.Minute,
		Consume: func(context.Context, pprofile.Profiles) error {
			<-end
			return nil
		},
	})
	require.NoError(t, err)
	memory := budget.New(64*size, time.Second)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(memory)))
	accepted := 0
	for err == nil && accepted < 64 {
		if err = e.ConsumeProfiles(t.Context(), message(size)); err == nil {
			accepted++
		}
	}
	require.ErrorContains(t, err, "sending_queue is full: its requests use their part of the memory budget, 16777216 bytes")
	require.NotErrorIs(t, err, budget.ErrExhausted)
	assert.False(t, consumererror.IsPermanent(err))
	assert.Greater(t, accepted, 4)
	used, _ := memory.Used()
	assert.LessOrEqual(t, used, int64(16*size))
	close(end)
	require.NoError(t, e.Shutdown(t.Context()))
	used, _ = memory.Used()
	assert.Zero(t, used)
}

// TestWithoutRetries: a request that failed and is not retried is lost. Its memory is free at once, without a garbage collection.
func TestWithoutRetries(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	e, err := delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), &struct{}{}, delivery.Settings{
		Queue: options.NewDefaultQueue(), DrainTime: time.Second,
		Consume: func(context.Context, pprofile.Profiles) error { return errors.New("the destination is away") },
	})
	require.NoError(t, err)
	memory := budget.New(64<<20, time.Second)
	require.NoError(t, e.Start(t.Context(), budgettest.NewHost(memory)))
	for range 20 {
		require.NoError(t, e.ConsumeProfiles(t.Context(), message(1<<10)))
	}
	require.NoError(t, e.Shutdown(t.Context()))
	used, _ := memory.Used()
	assert.Zero(t, used)
}
