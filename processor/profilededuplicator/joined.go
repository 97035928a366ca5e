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

// place is a profile with an id as part of a message: its number, counted through the message.
type place struct {
	id     recent.ID
	number int
}

func placesOf(tenant string, pd pprofile.Profiles) []place {
	var places []place
	namer := recent.NewNamer(tenant, pd.Dictionary().StringTable())
	number := 0
	for profile := range profilesOf(pd) {
		if id, ok := namer.Of(profile); ok {
			places = append(places, place{id, number})
		}
		number++
	}
	return places
}

// span is the profiles from first to last of a message.
type span struct{ first, last int }

// arrived returns a function that tells which ids are delivered when these parts of the message, in its order, were lost.
// An id of which that is not certain is not.
func (j *joined) arrived(lost []span) func(recent.ID) bool {
	if len(lost) > 0 && j.merged {
		return recent.None
	}
	delivered := make(map[recent.ID]bool, len(j.places))
	for _, place := range j.places {
		delivered[place.id] = true
	}
	for _, place := range j.places {
		for len(lost) > 0 && lost[0].last < place.number {
			lost = lost[1:]
		}
		if len(lost) > 0 && lost[0].first <= place.number {
			delivered[place.id] = false
		}
	}
	return func(id recent.ID) bool { return delivered[id] }
}
