// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// joined is the content of a batch as one message.
type joined struct {
	profiles pprofile.Profiles
	// ids has the profiles with an id, in the order before merging.
	ids []indexedID
	// merged reports whether profiles were merged. Then it is unknown which part has the samples of a profile.
	merged bool
	// sources maps the index of each profile before merging to the index of its message in the batch. It is nil unless
	// senders wait.
	sources []int
}

// indexedID is the id of a profile and its index in the message.
type indexedID struct {
	id    profileID
	index int
}

func idsOf(tenant string, pd pprofile.Profiles) []indexedID {
	var ids []indexedID
	namer := newIDNamer(tenant, pd.Dictionary().StringTable())
	index := 0
	for profile := range walk.Profiles(pd) {
		if id, ok := namer.of(profile); ok {
			ids = append(ids, indexedID{id, index})
		}
		index++
	}
	return ids
}

// sourcesOf returns the index of the message of each profile. counts has the number of profiles of each message.
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

// lostPart is a range of profiles, from index first to index last, that was not delivered because of err.
type lostPart struct {
	first, last int
	err         error
}

// results returns the result of each of n messages: the error of a lost part with profiles of the message, or nil. After
// merging, the messages of a part are unknown, so all get its error.
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
			// A retryable error has precedence, so that the sender retries.
			if before := results[source]; before == nil || consumererror.IsPermanent(before) && !consumererror.IsPermanent(part.err) {
				results[source] = part.err
			}
		}
	}
	return results
}

// arrived returns a function that reports whether the profile with an id was delivered. lost has the parts that were lost,
// in the order of the message. If it is unknown whether a profile was delivered, it counts as not delivered.
func (j *joined) arrived(lost []lostPart) func(profileID) bool {
	if len(lost) > 0 && j.merged {
		return noneDelivered
	}
	arrived := make(map[profileID]bool, len(j.ids))
	for _, profile := range j.ids {
		arrived[profile.id] = true
	}
	for _, profile := range j.ids {
		for len(lost) > 0 && lost[0].last < profile.index {
			lost = lost[1:]
		}
		if len(lost) > 0 && lost[0].first <= profile.index {
			arrived[profile.id] = false
		}
	}
	return func(id profileID) bool { return arrived[id] }
}
