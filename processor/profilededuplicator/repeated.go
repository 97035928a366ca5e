// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// repeated drops profiles that were delivered before.
type repeated struct {
	ids  *deliveredIDs
	keys []string
}

// filter removes the profiles of a message that were delivered before or are held. It claims the others; the claim must be
// settled when they are delivered or lost. If the message is read-only, filter replaces it with a copy.
func (r *repeated) filter(ctx context.Context, m *incoming) (dropped int, err error) {
	claim, repeated, err := r.ids.claim(ctx, r.idsOf(ctx, m.profiles))
	if err != nil {
		return 0, err
	}
	m.claim = claim
	for _, drop := range repeated {
		if drop {
			dropped++
		}
	}
	if dropped > 0 {
		m.profiles = dedup.OwnCopy(m.profiles)
		walk.RemoveProfiles(m.profiles, func(profile pprofile.Profile) bool {
			if profile.ProfileID().IsEmpty() {
				return false
			}
			drop := repeated[0] // It has an element for each profile with an id.
			repeated = repeated[1:]
			return drop
		})
		dedup.DropEmpty(m.profiles)
	}
	return dropped, nil
}

// idsOf returns the ids of the profiles that have one.
func (r *repeated) idsOf(ctx context.Context, pd pprofile.Profiles) (ids []profileID) {
	for _, profile := range idsOf(originOf(ctx, r.keys).key, pd) {
		ids = append(ids, profile.id)
	}
	return ids
}

// among returns a function that reports whether a profile of pd has this id.
func (r *repeated) among(ctx context.Context, pd pprofile.Profiles) func(profileID) bool {
	ids := map[profileID]bool{}
	for _, id := range r.idsOf(ctx, pd) {
		ids[id] = true
	}
	return func(id profileID) bool { return ids[id] }
}
