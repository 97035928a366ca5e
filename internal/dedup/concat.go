// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
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
// range becomes negative.
func shift(pd pprofile.Profiles, by dictionary.Lengths) {
	d := pd.Dictionary()
	s := &shifts{by: by, n: dictionary.LengthsOf(d)}
	visit := dictionary.NewVisit(s)
	for t := range visit {
		visit[t].To = shifted(s.by[t], s.n[t])
	}
	for t, n := range s.n {
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

// shifts shifts the indices of lists.
type shifts struct{ by, n dictionary.Lengths }

// Index gets an index out of range. It must stay out of range when the next message is appended.
func (s *shifts) Index(_ dictionary.Table, i int32) int32 { return min(i, -1) }

func (s *shifts) List(t dictionary.Table, list pcommon.Int32Slice) {
	by, n := int32(s.by[t]), int32(s.n[t])
	for j := range list.Len() {
		switch i := list.At(j); {
		case i > 0 && i < n:
			if by != 0 {
				list.SetAt(j, i+by)
			}
		case i != 0:
			list.SetAt(j, s.Index(t, i))
		}
	}
}
