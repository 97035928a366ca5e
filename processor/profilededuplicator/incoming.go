// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
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
	if m.grouped || stats.Changed || stats.ProfilesIn != m.content.profiles {
		return contentOf(m.profiles)
	}
	return m.content
}

// checkSplit is [dedup.CheckSplit]. It knows the answer for a message whose bytes fit and can only have become fewer.
func (m *incoming) checkSplit(maxBytes int) error {
	if !m.grouped && !m.deduplicated && m.content.bytes <= maxBytes {
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
