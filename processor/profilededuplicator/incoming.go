// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// incoming is a message while it is processed.
type incoming struct {
	profiles    pprofile.Profiles
	reservation *memory.Reservation
	// content is the size of the message as it was received.
	content content
	// measured reports whether content has the bytes. tables is the part of them that is the dictionary.
	measured bool
	tables   int
	// grouped reports whether samples were moved to other resources, deduplicated whether deduplication changed the
	// message.
	grouped, deduplicated bool
	// claim has the ids of its profiles. It is nil unless repeated profiles are dropped.
	claim *idClaim
}

// measure returns a message with its size. The bytes cost the most, so they are measured only if metrics or batches need them.
func (d *deduplicator) measure(ctx context.Context, pd pprofile.Profiles) incoming {
	m := incoming{profiles: pd, content: countsOf(pd)}
	if d.batching != nil || d.telemetry.countsBytes(ctx) {
		m.measured, m.tables = true, tablesBytes(pd)
		m.content.bytes = m.tables + resourcesBytes(pd)
	}
	return m
}

// exceeds reports whether the message has more bytes in protobuf than a limit.
func (m *incoming) exceeds(limit int) bool {
	if m.measured {
		return m.content.bytes > limit
	}
	return exceeds(m.profiles, limit)
}

// outgoing returns the size of the message after it was deduplicated. It measures only what may have changed.
func (m *incoming) outgoing(stats *dedup.Stats) content {
	if !stats.Changed && !m.grouped && stats.ProfilesIn == m.content.profiles {
		return m.content
	}
	out := countsOf(m.profiles)
	if !m.measured {
		return out
	}
	tables := m.tables
	if stats.TablesChanged || m.grouped {
		tables = tablesBytes(m.profiles)
	}
	out.bytes = tables + resourcesBytes(m.profiles)
	return out
}

// checkSplit is [dedup.CheckSplit]. It knows the answer for a message whose bytes fit and can only have become fewer.
func (m *incoming) checkSplit(maxBytes int) error {
	if m.measured && !m.grouped && !m.deduplicated && m.content.bytes <= maxBytes {
		return nil
	}
	return dedup.CheckSplit(m.profiles, maxBytes)
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
	bytes := copiesMemory(plan, len(d.groupKeys))
	if m.profiles.IsReadOnly() {
		bytes += dictionary.MessageMemory(m.profiles)
	}
	if err := d.grow(ctx, m, bytes); err != nil {
		return err
	}
	if m.profiles.IsReadOnly() {
		m.profiles = ownCopy(m.profiles)
		plan = dedup.PlanGroups(m.profiles, d.groupKeys)
	}
	plan.Apply()
	m.grouped = true
	return nil
}

// copiesMemory estimates the additional memory of a message that is grouped.
func copiesMemory(plan *dedup.Grouping, keys int) int64 {
	total := int64(0)
	plan.Copies(
		func(r pprofile.ResourceProfiles, copies int) {
			total += int64(copies) * int64(dictionary.ResourceMemory(r.Resource(), r.SchemaUrl())+groupBytes+keys*groupKeyBytes)
		},
		func(s pprofile.ScopeProfiles, copies int) {
			total += int64(copies) * int64(dictionary.ScopeMemory(s.Scope(), s.SchemaUrl()))
		},
		func(p pprofile.Profile, copies int) {
			total += int64(copies) * int64(dictionary.ProfileMemory+4*p.AttributeIndices().Len())
			if copies > 0 {
				total += dictionary.PointerMemory * int64(p.Samples().Len())
			}
		},
	)
	return total
}
