// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/messagememory"
)

// group moves the attributes of group_by_attributes from samples to resources. The reservation is for the copies of resources,
// scopes and profiles, which the receiver could not reserve. The error is a *refusal.
func (d *deduplicator) group(ctx context.Context, m *incoming) (*budget.Reservation, error) {
	if len(d.groupKeys) == 0 {
		return nil, nil
	}
	plan := dedup.PlanGroups(m.profiles, d.groupKeys)
	if plan == nil {
		return nil, nil
	}
	memory := copiesMemory(plan, len(d.groupKeys))
	if m.profiles.IsReadOnly() {
		memory += messagememory.Of(m.profiles)
	}
	reservation, err := d.reserve(ctx, true, memory)
	if err != nil {
		return nil, err
	}
	if m.profiles.IsReadOnly() {
		m.profiles = ownCopy(m.profiles)
		plan = dedup.PlanGroups(m.profiles, d.groupKeys)
	}
	plan.Apply()
	m.grouped = true
	return reservation, nil
}

// copiesMemory estimates the additional memory of a message that is grouped.
func copiesMemory(plan *dedup.Grouping, keys int) int64 {
	total := int64(0)
	plan.Copies(
		func(r pprofile.ResourceProfiles, copies int) {
			total += int64(copies) * int64(messagememory.OfResource(r)+groupBytes+keys*groupKeyBytes)
		},
		func(s pprofile.ScopeProfiles, copies int) {
			total += int64(copies) * int64(messagememory.OfScope(s))
		},
		func(p pprofile.Profile, copies int) {
			total += int64(copies) * int64(messagememory.ProfileBytes+4*p.AttributeIndices().Len())
			if copies > 0 {
				total += messagememory.PointerBytes * int64(p.Samples().Len())
			}
		},
	)
	return total
}
