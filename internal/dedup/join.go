// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// Join appends all messages to the first one, see [Concat]. It sets the capacity of the tables once, so that growing
// tables leave no garbage. Without messages, the result is empty.
func Join(messages []pprofile.Profiles) pprofile.Profiles {
	if len(messages) == 0 {
		return pprofile.NewProfiles()
	}
	joined := messages[0]
	if joined.IsReadOnly() {
		joined = pprofile.NewProfiles()
		messages[0].CopyTo(joined)
	}
	if len(messages) > 1 {
		shift(joined, dictionary.Lengths{}) // An index out of range must not become one of an entry of the next message.
	}
	ensureCapacity(joined, messages)
	for _, message := range messages[1:] {
		Concat(joined, message)
	}
	return joined
}

// ensureCapacity makes room in a message for the content of all messages.
func ensureCapacity(joined pprofile.Profiles, messages []pprofile.Profiles) {
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
}

// Concat appends the content of src to dst, and shifts the indices. It does not deduplicate. src is empty afterwards,
// unless it is read-only: then Concat copies it. Equal and invalid entries of src stay as they are. dst must have no index
// out of range, since it could become the index of an entry of src. [Join] ensures that.
func Concat(dst, src pprofile.Profiles) {
	if src.IsReadOnly() {
		own := pprofile.NewProfiles()
		src.CopyTo(own)
		src = own
	}
	shift(src, dictionary.LengthsOf(dst.Dictionary()))
	dictionary.MoveEntries(dst.Dictionary(), src.Dictionary())
	src.ResourceProfiles().MoveAndAppendTo(dst.ResourceProfiles())
}

// shift adds these lengths to all indices of a message, so that its tables can be appended to others. An index out of
// range becomes negative: it must stay out of range when the next message is appended.
func shift(pd pprofile.Profiles, by dictionary.Lengths) {
	d := pd.Dictionary()
	lengths := dictionary.LengthsOf(d)
	visit := dictionary.NewVisit(func(_ dictionary.Table, i int32) int32 { return min(i, -1) })
	for t := range visit {
		visit[t].To = shifted(by[t], lengths[t])
	}
	for t, n := range lengths {
		visit.Entries(d, dictionary.Table(t), 0, n, nil)
	}
	for profile := range walk.Profiles(pd) {
		visit.Profile(profile)
	}
}

// shifted returns the new indices of n entries that follow others. 0 is the zero value in every dictionary.
func shifted(by, n int) []int32 {
	to := make([]int32, n)
	for i := 1; i < n; i++ {
		to[i] = int32(by + i)
	}
	return to
}
