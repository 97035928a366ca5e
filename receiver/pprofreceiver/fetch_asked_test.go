// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// TestAskedTargets: above the limit, a target that has answered before ends a fetch of one that has not, unless that still profiles.
func TestAskedTargets(t *testing.T) {
	asked := askedTargets{limit: 3}
	begin := func(length time.Duration, answered bool) (context.Context, func()) {
		ctx, end, err := asked.begin(t.Context(), length, answered)
		require.NoError(t, err)
		return ctx, end
	}
	refused := func(answered bool) {
		_, _, err := asked.begin(t.Context(), 0, answered)
		require.Equal(t, busy, classOf(err))
	}
	good, endGood := begin(0, true)
	profiling, endProfiling := begin(time.Hour, false)
	hanging, endHanging := begin(0, false)
	refused(false)
	other, endOther := begin(0, true)
	assert.Equal(t, errOverdue, context.Cause(hanging))
	refused(true)
	endHanging()
	refused(true)
	endGood()
	assert.Equal(t, context.Canceled, good.Err())
	for _, ctx := range []context.Context{profiling, other} {
		require.NoError(t, ctx.Err())
	}
	_, endLast := begin(0, false)
	for _, end := range []func(){endProfiling, endOther, endLast} {
		end()
	}
	assert.Empty(t, asked.all)
}

// TestManyHang: many targets that do not answer take a part of the memory budget, and do not keep one that answers from being fetched.
func TestManyHang(t *testing.T) {
	var waiting atomic.Int64
	hanging := newTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		waiting.Add(1)
		<-r.Context().Done()
		waiting.Add(-1)
	})
	good := newTarget(t, serve(plain(t, cpuProfile(1))))
	found := &someDiscovery{}
	host := hostOf(found)
	host.extensions[budgettest.ID] = &budgettest.Extension{Budget: memory.New(4<<20, 0)}
	r := runScrape(t, host, func(cfg *ScrapeConfig) {
		cfg.Discovery = []component.ID{discoveryID}
		cfg.Schedule.CollectionInterval, cfg.Profiles = 20*time.Millisecond, []ScrapedProfile{{Name: profileHeap}}
	}, good.URL)
	r.sink.wait(t, 1)
	var all []*discovery.Target
	for i := range 200 {
		all = append(all, &discovery.Target{Address: addressOf(hanging), PathPrefix: fmt.Sprint("/", i)})
	}
	found.set(all...)
	limit := int64(4 << 20 / askedPart / askedBytes)
	require.Eventually(t, func() bool { return waiting.Load() >= limit/2 }, time.Minute, time.Millisecond)
	before := good.times("/debug/pprof/heap")
	for good.times("/debug/pprof/heap") < before+10 {
		require.LessOrEqual(t, waiting.Load(), 2*limit, "those that were ended may not have left")
		time.Sleep(time.Millisecond)
	}
	r.waitOutcome(t, "busy", 1)
}
