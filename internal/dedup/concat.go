// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

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
