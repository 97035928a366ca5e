// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
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
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestDrainTime: a shutdown does not work for longer on what is queued, and counts the rest as not sent.
func TestDrainTime(t *testing.T) {
	const requests = 20
	telemetry := componenttest.NewTelemetry()
	defer func() { require.NoError(t, telemetry.Shutdown(context.Background())) }()
	set := exportertest.NewNopSettings(component.MustNewType("test"))
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	queue := options.NewDefaultQueue()
	queue.Get().NumConsumers = 1
	var done atomic.Int64
	first := make(chan struct{})
	e, err := delivery.NewExporter(t.Context(), set, delivery.Settings{
		Timeout: exporterhelper.TimeoutConfig{}, Queue: queue, Retry: configretry.NewDefaultBackOffConfig(),
		Consume: func(ctx context.Context, _ pprofile.Profiles) error {
			if done.Add(1) == 1 {
				close(first)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		},
		DrainTime: 10 * time.Millisecond,
	})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	for range requests {
		require.NoError(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	}
	<-first
	begin := time.Now()
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Less(t, time.Since(begin), 5*time.Second)
	metric := must.Get(telemetry.GetMetric("otelcol_exporter_send_failed_profile_samples"))(t)
	assert.NotNil(t, metric)
	assert.EqualValues(t, 1, done.Load(), "the others are not begun")
}

// TestLargeRequestEnds: a request that is too large for the queue does not wait forever for a backend that never answers.
func TestLargeRequestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout  time.Duration
		shutdown bool
		want     string
	}{
		"timeout":                    {timeout: 10 * time.Millisecond, want: "deadline exceeded"},
		"shutdown":                   {timeout: time.Hour, shutdown: true, want: "the exporter is shutting down"},
		"shutdown without a timeout": {shutdown: true, want: "the exporter is shutting down"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			budget := memory.New(16<<20, time.Second)
			e := newExporter(t, budget, delivery.Settings{
				Timeout: exporterhelper.TimeoutConfig{Timeout: tt.timeout}, Queue: options.NewDefaultQueue(),
				Consume: func(ctx context.Context, _ pprofile.Profiles) error {
					close(begun)
					<-ctx.Done()
					return context.Cause(ctx)
				},
				DrainTime: 10 * time.Millisecond,
			})
			pd := message(5 << 20) // the queue has 4 MiB
			ctx, cancel := context.WithTimeout(t.Context(), deliverytest.Patience)
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- e.ConsumeProfiles(ctx, pd) }()
			<-begun
			if tt.shutdown {
				require.NoError(t, e.Shutdown(t.Context()))
			}
			err := <-ended
			require.ErrorContains(t, err, tt.want)
			require.NoError(t, ctx.Err(), "the test did not end it")
			assert.False(t, consumererror.IsPermanent(err))
			assert.Zero(t, used(budget))
			require.NoError(t, e.Shutdown(t.Context()))
		})
	}
}

// TestReferences: what is exported has the strings to which values refer. Only profile_deduplicator resolves them before.
func TestReferences(t *testing.T) {
	pd := must.Get((&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(
		`{"dictionary":{"stringTable":["","key","alpha"],"attributeTable":[{},{"keyStrindex":1,"value":{"stringValueStrindex":2}}]}}`)))(t)
	pd.MarkReadOnly()
	budget, value := memory.New(16<<20, time.Second), ""
	e := newExporter(t, budget, delivery.Settings{
		Consume: func(_ context.Context, pd pprofile.Profiles) error {
			value = pd.Dictionary().AttributeTable().At(1).Value().Str()
			return nil
		},
	})
	require.NoError(t, e.ConsumeProfiles(t.Context(), pd))
	assert.Equal(t, "alpha", value)
	shutdown(t, e, budget)
}
