// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
)

// joined is the content of a batch as one message.
type joined struct {
	profiles pprofile.Profiles
	// places are the profiles that have an id, in their order, before profiles were merged.
	places []place
	// merged says that profiles were merged. It is not known then where the samples of a place are.
	merged bool
	// sources has for each profile, before profiles were merged, the number of the message that it came in. It is nil
	// unless senders wait.
	sources []int
}

// place is a profile with an id as part of a message: its number, counted through the message.
type place struct {
	id     delivered.ID
	number int
}

func placesOf(tenant string, pd pprofile.Profiles) []place {
	var places []place
	namer := delivered.NewNamer(tenant, pd.Dictionary().StringTable())
	number := 0
	for profile := range walk.Profiles(pd) {
		if id, ok := namer.Of(profile); ok {
			places = append(places, place{id, number})
		}
		number++
	}
	return places
}

// sourcesOf returns the number of the message that each profile came in. counts are the profiles of each message.
func sourcesOf(pd pprofile.Profiles, counts []int) map[pprofile.Profile]int {
	sources := make(map[pprofile.Profile]int, pd.ProfileCount())
	source, end := 0, counts[0]
	for profile := range walk.Profiles(pd) {
		for len(sources) == end {
			source++
			end += counts[source]
		}
		sources[profile] = source
	}
	return sources
}

// inOrder lists the sources of the profiles that are left, which deduplication has moved.
func inOrder(pd pprofile.Profiles, sources map[pprofile.Profile]int) []int {
	if sources == nil {
		return nil
	}
	ordered := make([]int, 0, len(sources))
	for profile := range walk.Profiles(pd) {
		ordered = append(ordered, sources[profile])
	}
	return ordered
}

// lostPart is the profiles from first to last of a message, which were not delivered because of err.
type lostPart struct {
	first, last int
	err         error
}

// results returns what became of each of n messages: the error of a part that held profiles of it. Where it is not known
// what a part held, that is an error for all.
func (j *joined) results(n int, lost []lostPart) []error {
	results := make([]error, n)
	if j.sources == nil {
		return results
	}
	for _, part := range lost {
		concerned := j.sources
		if !j.merged {
			concerned = j.sources[part.first : part.last+1]
		}
		for _, source := range concerned {
			// An error that will pass comes first: the sender is to send again.
			if before := results[source]; before == nil || consumererror.IsPermanent(before) && !consumererror.IsPermanent(part.err) {
				results[source] = part.err
			}
		}
	}
	return results
}

// arrived returns a function that tells which ids are delivered when these parts of the message, in its order, were lost.
// An id of which that is not certain is not.
func (j *joined) arrived(lost []lostPart) func(delivered.ID) bool {
	if len(lost) > 0 && j.merged {
		return delivered.None
	}
	arrived := make(map[delivered.ID]bool, len(j.places))
	for _, place := range j.places {
		arrived[place.id] = true
	}
	for _, place := range j.places {
		for len(lost) > 0 && lost[0].last < place.number {
			lost = lost[1:]
		}
		if len(lost) > 0 && lost[0].first <= place.number {
			arrived[place.id] = false
		}
	}
	return func(id delivered.ID) bool { return arrived[id] }
}
