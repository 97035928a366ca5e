// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/format"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// collector is what the sections share that fetch profiles: remote, scrape, file and self.
type collector struct {
	*scheduler
	in      *intake
	metrics *apiMetrics
	obs     *receiverhelper.ObsReport
	log     *zap.Logger
	format  format.Format
	// remembered is how many counters all trackers have.
	remembered atomic.Int64
}

func newCollector(set receiver.Settings, in *intake, name, transport string) (*collector, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: set.ID, Transport: transport, ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	return &collector{
		scheduler: newScheduler(), in: in, metrics: newAPIMetrics(in.metrics, name), obs: obs, log: set.Logger, format: in.formats.Pprof(false, ""),
	}, nil
}

// repeat starts a task whose rounds share a tracker, and counts their outcomes. An outcome of "" is that of the error.
func (c *collector) repeat(target string, schedule ScheduleConfig, jitter time.Duration, round func(context.Context, *tracker) (outcome string, err error)) *task {
	differences := &tracker{}
	t := &task{
		target: target,
		run: func(ctx context.Context) error {
			outcome, err := round(ctx, differences)
			if ctx.Err() == nil { // Otherwise the task has been stopped.
				c.metrics.fetched(ctx, cmp.Or(outcome, outcomeOf(err)))
			}
			return err
		},
		end:    differences.release,
		jitter: jitter,
	}
	c.start(t, schedule)
	return t
}

// deliver translates a payload and passes it on, or its difference, as delta says. The memory keeps the payload.
func (c *collector) deliver(ctx context.Context, delta string, t *tracker, content []byte, source pprof.Source, m *requestMemory) (outcome string, err error) {
	ctx = c.obs.StartProfilesOp(ctx)
	payloads := c.in.newBatch(c.metrics, m)
	samples, err := 0, payloads.add(ctx, payload{format: c.format, content: content, source: source})
	switch {
	case err != nil:
	case delta == DeltaComputed:
		samples, outcome, err = c.deliverDifference(ctx, t, payloads)
	case delta == DeltaTarget:
		samples, err = deliverTargetDifference(ctx, payloads)
	default:
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, obsFormat, samples, err)
	return outcome, err
}
