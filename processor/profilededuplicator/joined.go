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
	// ids are the profiles that have an id, in their order, before profiles were merged.
	ids []numberedID
	// merged says that profiles were merged. Then it is unknown which part has the samples of a profile.
	merged bool
	// sources has the number of the message of each profile, before profiles were merged. It is nil unless senders wait.
	sources []int
}

// numberedID is the id of a profile and its number in the message.
type numberedID struct {
	id     delivered.ID
	number int
}

func idsOf(tenant string, pd pprofile.Profiles) []numberedID {
	var ids []numberedID
	namer := delivered.NewNamer(tenant, pd.Dictionary().StringTable())
	number := 0
	for profile := range walk.Profiles(pd) {
		if id, ok := namer.Of(profile); ok {
			ids = append(ids, numberedID{id, number})
		}
		number++
	}
	return ids
}

// sourcesOf returns the number of the message of each profile. counts has the number of profiles of each message.
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

// inOrder returns the sources in the order of the profiles after deduplication.
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

// results returns the result of each of n messages: the error of a part that has profiles of it. If it is unknown which
// messages a part has profiles of, all get the error.
func (j *joined) results(n int, lost []lostPart) []error {
	results := make([]error, n)
	if j.sources == nil {
		return results
	}
	for _, part := range lost {
		affected := j.sources
		if !j.merged {
			affected = j.sources[part.first : part.last+1]
		}
		for _, source := range affected {
			// A retryable error has precedence: the sender is to send again.
			if before := results[source]; before == nil || consumererror.IsPermanent(before) && !consumererror.IsPermanent(part.err) {
				results[source] = part.err
			}
		}
	}
	return results
}

// arrived returns a function that reports whether the profile with an id was delivered, when these parts were lost. The parts
// are in the order of the message. A profile for which this is unknown counts as not delivered.
func (j *joined) arrived(lost []lostPart) func(delivered.ID) bool {
	if len(lost) > 0 && j.merged {
		return delivered.None
	}
	arrived := make(map[delivered.ID]bool, len(j.ids))
	for _, one := range j.ids {
		arrived[one.id] = true
	}
	for _, one := range j.ids {
		for len(lost) > 0 && lost[0].last < one.number {
			lost = lost[1:]
		}
		if len(lost) > 0 && lost[0].first <= one.number {
			arrived[one.id] = false
		}
	}
	return func(id delivered.ID) bool { return arrived[id] }
}
