// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// Join appends all messages to the first one, and shifts their indices. It does not deduplicate: equal and invalid entries stay
// as they are. The messages are empty afterwards, unless they are read-only: then Join copies them. It sets the capacity of the
// tables once, so that growing tables leave no garbage. Without messages, the result is empty.
func Join(messages []pprofile.Profiles) pprofile.Profiles {
	if len(messages) == 0 {
		return pprofile.NewProfiles()
	}
	joined := OwnCopy(messages[0])
	if len(messages) == 1 {
		return joined
	}
	shift(joined, dictionary.Lengths{}) // An index out of range must not become one of an entry of the next message.
	var all dictionary.Lengths
	resources := 0
	for _, message := range messages {
		for t, n := range dictionary.LengthsOf(message.Dictionary()) {
			all[t] += n
		}
		resources += message.ResourceProfiles().Len()
	}
	dictionary.EnsureCapacity(joined.Dictionary(), all)
	joined.ResourceProfiles().EnsureCapacity(resources)
	for _, message := range messages[1:] {
		message = OwnCopy(message)
		shift(message, dictionary.LengthsOf(joined.Dictionary()))
		dictionary.MoveEntries(joined.Dictionary(), message.Dictionary())
		message.ResourceProfiles().MoveAndAppendTo(joined.ResourceProfiles())
	}
	return joined
}

// OwnCopy returns a message, or a copy of it if it is read-only.
func OwnCopy(pd pprofile.Profiles) pprofile.Profiles {
	if !pd.IsReadOnly() {
		return pd
	}
	own := pprofile.NewProfiles()
	pd.CopyTo(own)
	return own
}

// shift adds these lengths to all indices of a message, so that its tables can be appended to others. An index out of
// range becomes negative: it must stay out of range when the next message is appended.
func shift(pd pprofile.Profiles, by dictionary.Lengths) {
	d := pd.Dictionary()
	lengths := dictionary.LengthsOf(d)
	visit := dictionary.NewVisit(func(_ dictionary.Table, i int32) int32 { return min(i, -1) })
	for t, n := range lengths {
		to := make([]int32, n)
		for i := 1; i < n; i++ { // 0 is the zero value in every dictionary.
			to[i] = int32(by[t] + i)
		}
		visit[t].To = to
	}
	for t, n := range lengths {
		visit.Entries(d, dictionary.Table(t), 0, n, nil)
	}
	for profile := range walk.Profiles(pd) {
		visit.Profile(profile)
	}
}
