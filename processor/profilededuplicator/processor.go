// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/internal/badrequest"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/otlpreferences"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
)

// maxMessageBytes bounds the time that a message takes. Attributes can refer to one long text many times, which takes
// little on the wire and in memory; all that reads the message reads the text each time.
const maxMessageBytes = 512 << 20

// deduplicator is the processor. Without batching it is synchronous: an error of the next consumer goes to the caller.
type deduplicator struct {
	core      *dedup.Deduplicator
	onInvalid OnInvalid
	next      xconsumer.Profiles
	telemetry *telemetry
	// perEvent says that each event becomes a sample.
	perEvent bool
	// budget is what messages are charged to that come without a reservation. It is set at the start.
	budget *budget.Budget
	// repeated is nil unless repeated profiles are dropped.
	repeated *repeated
	// batching is nil unless messages are joined.
	batching *batching
}

var _ xprocessor.Profiles = (*deduplicator)(nil)

func newDeduplicator(set processor.Settings, cfg *Config, next xconsumer.Profiles) (*deduplicator, error) {
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	d := &deduplicator{
		core:      dedup.New(cfg.options()),
		onInvalid: cfg.OnInvalid,
		next:      next,
		telemetry: telemetry,
		perEvent:  cfg.SampleShape == SampleShapePerEvent,
	}
	if section := cfg.DropRepeated.Get(); section != nil {
		ids := delivered.New(section.TTL, section.MaxEntries, telemetry.evicted)
		d.repeated = &repeated{ids: ids, keys: cfg.repeatedKeys()}
		if err := telemetry.remembers(ids); err != nil {
			return nil, err
		}
	}
	if cfg.Batch.HasValue() {
		d.batching = newBatching(set, cfg, next, telemetry)
		if err := telemetry.holds(d.batching.batches); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Start finds the memory budget. Timers run only while messages are held.
func (d *deduplicator) Start(_ context.Context, host component.Host) (err error) {
	if d.budget, err = budget.Of(host); err == nil && d.batching != nil {
		d.batching.batches.within(d.budget)
	}
	return err
}

// Shutdown flushes what is held, until ctx ends.
func (d *deduplicator) Shutdown(ctx context.Context) error {
	var err error
	if d.batching != nil {
		err = d.batching.batches.stop(ctx)
	}
	d.telemetry.builder.Shutdown()
	return err
}

// Capabilities tells that messages are written to.
func (d *deduplicator) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles deduplicates a message and passes it on, or holds it for a batch.
func (d *deduplicator) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	m := incoming{profiles: pd, content: contentOf(pd)}
	d.telemetry.incoming(ctx, m.content)
	if err := d.resolve(ctx, &m); err != nil {
		return d.refuse(ctx, m, &refusal{refusedInvalid, badrequest.Errorf("%w", err)})
	}
	if m.content.bytes > maxMessageBytes {
		return d.refuse(ctx, m, &refusal{refusedTooLarge, badrequest.Errorf(
			"cannot take a message of %d bytes in protobuf, at most %d are allowed", m.content.bytes, maxMessageBytes)})
	}
	if d.repeated != nil {
		dropped, err := d.repeated.filter(ctx, &m)
		if err != nil {
			d.telemetry.refused(ctx, refusedInFlight)
			return err
		}
		d.telemetry.repeated(ctx, dropped)
	}
	if d.batching != nil && d.onInvalid == OnInvalidDropProfile {
		return d.hold(ctx, m)
	}
	events, err := d.reserve(ctx, true, d.eventsMemory(m.profiles))
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	defer events.Release()
	// A caller whose message is held gets no answer, so that what depends on its content is found out before.
	stats, err := d.deduplicate(ctx, &m)
	if err != nil {
		return d.refuse(ctx, m, &refusal{refusedInvalid, badrequest.Errorf("%w", err)})
	}
	if d.batching != nil && !broken(&stats) {
		events.Release() // What events have become is charged with the message.
		return d.hold(ctx, m)
	}
	return d.pass(ctx, m, &stats)
}

// resolve names the attributes of a message that refers to the dictionary for them.
func (d *deduplicator) resolve(ctx context.Context, m *incoming) error {
	profiles, resolved, err := otlpreferences.Resolve(m.profiles)
	if err != nil || !resolved {
		return err
	}
	m.profiles = profiles
	d.telemetry.resolved(ctx)
	return nil
}

// incoming is a message on its way through the processor.
type incoming struct {
	profiles pprofile.Profiles
	// content is what the message held when it came in.
	content content
	// claim has the ids of its profiles. It is nil unless repeated profiles are dropped.
	claim *delivered.Claim
}

// deduplicate makes a message canonical.
func (d *deduplicator) deduplicate(ctx context.Context, m *incoming) (stats dedup.Stats, err error) {
	begin := time.Now()
	m.profiles, stats, err = d.core.Deduplicate(m.profiles)
	d.telemetry.deduplicated(ctx, &stats, time.Since(begin))
	return stats, err
}

// pass passes a message on in the time of its caller.
func (d *deduplicator) pass(ctx context.Context, m incoming, stats *dedup.Stats) error {
	// What follows settles the claim if the message arrives; otherwise nothing arrived, whatever happens here.
	defer m.claim.Settle(delivered.None)
	out := m.content
	if stats.Changed || stats.ProfilesIn != out.profiles {
		out = contentOf(m.profiles)
	}
	arrived := delivered.All
	if m.claim != nil && broken(stats) {
		arrived = d.repeated.among(ctx, m.profiles)
	}
	if out.profiles > 0 {
		if err := d.next.ConsumeProfiles(ctx, m.profiles); err != nil {
			return err
		}
		d.telemetry.outgoing(ctx, out)
	}
	m.claim.Settle(arrived)
	d.telemetry.saved(ctx, m.content.bytes-out.bytes)
	return nil
}

// broken tells whether a message had profiles that break the format.
func broken(stats *dedup.Stats) bool {
	for _, n := range stats.Invalid {
		if n > 0 {
			return true
		}
	}
	return false
}
