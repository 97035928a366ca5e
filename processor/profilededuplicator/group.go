// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/memory/size"
)

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
		bytes += size.Of(m.profiles)
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
			total += int64(copies) * int64(size.OfResource(r)+groupBytes+keys*groupKeyBytes)
		},
		func(s pprofile.ScopeProfiles, copies int) {
			total += int64(copies) * int64(size.OfScope(s))
		},
		func(p pprofile.Profile, copies int) {
			total += int64(copies) * int64(size.ProfileBytes+4*p.AttributeIndices().Len())
			if copies > 0 {
				total += size.PointerBytes * int64(p.Samples().Len())
			}
		},
	)
	return total
}
