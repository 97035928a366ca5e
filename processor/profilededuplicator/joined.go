// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/recent"
)

// joined is the content of a batch as one message.
type joined struct {
	profiles pprofile.Profiles
	// places are the profiles that have an id, in their order, before profiles were merged.
	places []place
	// merged says that profiles were merged. It is not known then where the samples of a place are.
	merged bool
}

// place is a profile as part of a message: its samples from first to end-1, counted through the message.
type place struct {
	id         recent.ID
	first, end int
}

func placesOf(tenant string, pd pprofile.Profiles) []place {
	var places []place
	position := 0
	for profile := range profilesOf(pd) {
		first := position
		position += profile.Samples().Len()
		if id, ok := recent.Of(tenant, pd.Dictionary().StringTable(), profile); ok {
			places = append(places, place{id, first, position})
		}
	}
	return places
}

// arrived returns a function that tells which ids are delivered when these parts of the message, in its order, were lost.
// An id of which that is not certain is not.
func (j *joined) arrived(parts []content, lost []bool) func(recent.ID) bool {
	delivered := make(map[recent.ID]bool, len(j.places))
	for _, place := range j.places {
		delivered[place.id] = true
	}
	begin, rest := 0, j.places
	for i, part := range parts {
		end := begin + part.samples
		if lost[i] && j.merged {
			return recent.None
		}
		for len(rest) > 0 && rest[0].end < begin {
			rest = rest[1:]
		}
		for k := 0; lost[i] && k < len(rest) && rest[k].first <= end; k++ {
			if rest[k].overlaps(begin, end) {
				delivered[rest[k].id] = false
			}
		}
		begin = end
	}
	return func(id recent.ID) bool { return delivered[id] }
}

// overlaps tells whether a part with the samples from begin to end-1 has some of the profile. One without samples is in
// the part with the sample before it.
func (p place) overlaps(begin, end int) bool {
	if p.first == p.end {
		before := max(p.first-1, 0)
		return begin <= before && before < max(end, 1)
	}
	return p.first < end && begin < p.end
}
