// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// SplitResources splits pd by resource. groups has, for each resource, the number of its message, 0 to n-1. take gets the
// messages in order, each with only the entries that it needs. SplitResources creates one at a time, and stops if take
// returns false.
//
// pd need not be canonical. A reference to an entry that does not exist is an error, before take is called. Unless there is only one
// group, the content of pd is moved, and it must not be used any more. If pd is read-only, its content is copied.
func SplitResources(pd pprofile.Profiles, groups []int, n int, take func(group int, part pprofile.Profiles) bool) error {
	if n <= 1 {
		take(0, pd)
		return nil
	}
	pd = OwnCopy(pd)
	s := newSelection(pd.Dictionary())
	begin := s.mark()
	members := make([][]int, n)
	for i, resource := range pd.ResourceProfiles().All() {
		members[groups[i]] = append(members[groups[i]], i)
		visitResource(resource, s.choose)
	}
	if s.err != nil {
		return s.fault()
	}
	s.rollBack(begin)
	for group := range n {
		if !take(group, s.resources(pd, members[group])) {
			return nil
		}
		s.next()
	}
	return nil
}

// resources moves resources to a message of their own.
func (s *selection) resources(pd pprofile.Profiles, members []int) pprofile.Profiles {
	for _, i := range members {
		visitResource(pd.ResourceProfiles().At(i), s.choose)
	}
	part := pprofile.NewProfiles()
	s.write(part.Dictionary())
	part.ResourceProfiles().EnsureCapacity(len(members))
	for _, i := range members {
		resource := part.ResourceProfiles().AppendEmpty()
		pd.ResourceProfiles().At(i).MoveTo(resource)
		visitResource(resource, s.rename)
	}
	return part
}

func visitResource(resource pprofile.ResourceProfiles, v *dictionary.Visit) {
	for _, scope := range resource.ScopeProfiles().All() {
		for _, profile := range scope.Profiles().All() {
			v.Profile(profile)
		}
	}
}
