// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// collector is what the sections share that fetch profiles: remote, scrape, file and self.
type collector struct {
	*scheduler
	set     receiver.Settings
	in      *intake
	metrics *apiMetrics
	obs     *receiverhelper.ObsReport
	format  payloadFormat
	// remembered has the counters of all trackers.
	remembered memory.Share
}

func newCollector(set receiver.Settings, in *intake, name, transport string) (*collector, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: set.ID, Transport: transport, ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	return &collector{
		scheduler: newScheduler(), set: set, in: in, metrics: newAPIMetrics(in.metrics, name), obs: obs, format: in.formats.pprof(false, ""),
	}, nil
}

// begin is called before the first task is started. The budget must be known.
func (c *collector) begin(host component.Host) {
	c.health = newHealth(host, c.set.Logger)
	c.remembered.Limit(c.in.budget, c.in.budget.Size()/rememberedPart)
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
	payloads := &batch{in: c.in, metrics: c.metrics, memory: m}
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

// deliverDifference passes on the difference from the profile before. The first profile is only kept. If the next consumer
// refuses a difference for now, the next difference includes it.
func (c *collector) deliverDifference(ctx context.Context, t *tracker, payloads *batch) (samples int, outcome string, err error) {
	if len(payloads.messages) == 0 {
		return 0, "", nil
	}
	if err := t.begin(ctx, payloads); err != nil {
		return 0, "", err
	}
	isFirst := t.apply(payloads.messages[0], time.Now())
	if err := c.remember(t); err != nil {
		return 0, "", err
	}
	if isFirst {
		t.commit()
		return 0, outcomeBaseline, nil
	}
	samples, err = payloads.deliverChanged(ctx)
	if err == nil || isAboutContent(err) {
		t.commit()
	} else {
		t.discard() // Its memory may be what the next consumer needs.
	}
	return samples, "", err
}

// deliverTargetDifference passes on a difference that the target has computed. net/http/pprof gives it the time of its end.
func deliverTargetDifference(ctx context.Context, payloads *batch) (samples int, err error) {
	for _, message := range payloads.messages {
		keepCounters(message)
		for profile := range walk.Profiles(message) {
			if duration := pcommon.Timestamp(profile.DurationNano()); duration < profile.Time() {
				profile.SetTime(profile.Time() - duration)
			}
		}
	}
	return payloads.deliverChanged(ctx)
}

// rememberedPart is the part of the memory budget that remembered counters may take. The rest is for profiles that are
// being processed: without it none could be, as counters are kept as long as their targets are there.
const rememberedPart = 2

// remember counts the counters of the profile that was applied last, instead of those before. Where all trackers together have
// too many it refuses the profile, and the tracker keeps what it had.
func (c *collector) remember(t *tracker) error {
	counters := t.next.counters.number()
	t.next.memory.Shrink(counterBytes * counters)
	before := t.remembered
	if t.share = &c.remembered; t.count(counterBytes*counters) && t.remembered > before {
		t.discard()
		return newRefusal(outOfMemory, "its %d counters are too many beside %d others: to subtract them from the next ones, counters may have half of the "+
			"memory budget of %d bytes, %d bytes each",
			counters, (c.remembered.Used()-t.remembered)/counterBytes, c.in.budget.Size(), counterBytes)
	}
	return nil
}

// isAboutContent reports whether the content of the file caused the error, and not reading it or the next consumer.
func isAboutContent(err error) bool {
	switch classOf(err) {
	case malformed, notPprof, unknownFormat, tooLarge, consumerRejected:
		return true
	default:
		return false
	}
}
