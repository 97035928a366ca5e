// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// incoming is a message while it is processed.
type incoming struct {
	profiles pprofile.Profiles
	// content is the size of the message as it was received.
	content content
	// grouped reports whether samples were moved to other resources, deduplicated whether deduplication changed the
	// message.
	grouped, deduplicated bool
	// claim has the ids of its profiles. It is nil unless repeated profiles are dropped.
	claim *idClaim
}

// outgoing returns the size of the message after it was deduplicated.
func (m *incoming) outgoing(stats *dedup.Stats) content {
	if m.grouped || stats.Changed || m.profiles.ProfileCount() != m.content.profiles {
		return contentOf(m.profiles)
	}
	return m.content
}

// group moves the attributes of group_by_attributes from samples to resources. The error is a *refusal.
func (d *deduplicator) group(ctx context.Context, m *incoming) error {
	if len(d.groupKeys) == 0 {
		return nil
	}
	plan := dedup.PlanGroups(m.profiles, d.groupKeys)
	if plan == nil {
		return nil
	}
	bytes := plan.Memory()
	if m.profiles.IsReadOnly() {
		bytes += dictionary.MessageMemory(m.profiles)
	}
	if err := d.grow(ctx, bytes); err != nil {
		return err
	}
	if m.profiles.IsReadOnly() {
		m.profiles = dedup.OwnCopy(m.profiles)
		plan = dedup.PlanGroups(m.profiles, d.groupKeys)
	}
	plan.Apply()
	m.grouped = true
	return nil
}

// content is the size of a message.
type content struct {
	profiles, samples int
	// entries has the length of each table, in the order of [dictionary.TableNames].
	entries dictionary.Lengths
	// bytes is the size in protobuf.
	bytes int
}

// contentOf returns the size of a message.
func contentOf(pd pprofile.Profiles) content {
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries:  dictionary.LengthsOf(pd.Dictionary()),
		bytes:    (&pprofile.ProtoMarshaler{}).ProfilesSize(pd),
	}
}

// eventsMemory estimates the memory of the samples that sample_shape: per_event adds to a message: each event becomes one.
func (d *deduplicator) eventsMemory(pd pprofile.Profiles) int64 {
	if !d.perEvent {
		return 0
	}
	total := 0
	for profile := range walk.Profiles(pd) {
		samples := profile.Samples()
		for i := range samples.Len() {
			if sample := samples.At(i); sample.TimestampsUnixNano().Len() > 1 {
				total += sample.TimestampsUnixNano().Len() * (dictionary.SampleMemory + 16 + 4*sample.AttributeIndices().Len())
			}
		}
	}
	return int64(total)
}
