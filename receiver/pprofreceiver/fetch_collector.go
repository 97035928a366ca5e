// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
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
	in     *intake
	obs    *receiverhelper.ObsReport
	log    *zap.Logger
	format format.Format
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
		scheduler: newScheduler(newAPIMetrics(in.metrics, name)), in: in, obs: obs, log: set.Logger, format: in.formats.Pprof(false, ""),
	}, nil
}

// repeat starts a task. Its rounds share a tracker.
func (c *collector) repeat(target string, schedule ScheduleConfig, jitter time.Duration, round func(context.Context, *tracker) (outcome string, err error)) *task {
	differences := &tracker{}
	t := &task{
		target: target,
		run:    func(ctx context.Context) (string, error) { return round(ctx, differences) },
		end:    differences.release,
		jitter: jitter,
	}
	c.start(t, schedule)
	return t
}

// deliver translates a payload and passes it to the next consumer. The memory keeps the payload.
func (c *collector) deliver(ctx context.Context, content []byte, source pprof.Source, m *requestMemory) error {
	ctx = c.obs.StartProfilesOp(ctx)
	payloads := c.in.newBatch(c.metrics, m)
	samples, err := 0, payloads.add(ctx, payload{format: c.format, content: content, source: source})
	if err == nil {
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, obsFormat, samples, err)
	return err
}
