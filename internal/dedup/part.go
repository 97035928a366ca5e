// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// The entries of all parts of [SplitResources] together may have this many bytes, or repeatedShare times those of the message. A
// small message could need a thousand times its size.
const resourcesBytes = 32 << 20

// SplitResources splits pd by resource. groups has, for each resource, the number of its message, 0 to n-1. take gets the
// messages in order, each with only the entries that it needs. SplitResources creates one at a time, and stops if take
// returns false.
//
// pd need not be canonical. A reference to an entry that does not exist is an error, before take is called, and so are parts that
// repeat too much: their entries may have 32 MiB in all, or six times those of the message. Unless there is only one group, the content
// of pd is moved, and it must not be used any more. If pd is read-only, its content is copied.
func SplitResources(pd pprofile.Profiles, groups []int, n int, take func(group int, part pprofile.Profiles) bool) error {
	if n <= 1 {
		take(0, pd)
		return nil
	}
	pd = OwnCopy(pd)
	s := newSelection(pd.Dictionary())
	members := make([][]int, n)
	for i := range pd.ResourceProfiles().Len() {
		members[groups[i]] = append(members[groups[i]], i)
	}
	if err := s.checkResources(pd, members); err != nil {
		return err
	}
	for group := range n {
		if !take(group, s.resources(pd, members[group])) {
			return nil
		}
		s.next()
	}
	return nil
}

// checkResources checks all entries to which the resources refer, and how often the parts repeat them.
func (s *selection) checkResources(pd pprofile.Profiles, parts [][]int) error {
	begin := s.mark()
	for _, members := range parts {
		s.chooseResources(pd, members)
	}
	if s.err != nil {
		return s.err
	}
	most := max(resourcesBytes, repeatedShare*s.bytes)
	s.rollBack(begin)
	for _, members := range parts {
		s.chooseResources(pd, members)
		s.next()
		if s.bytes > most {
			return fmt.Errorf("its %d parts repeat dictionary entries and need more than %d bytes for them", len(parts), most)
		}
	}
	return nil
}

func (s *selection) chooseResources(pd pprofile.Profiles, members []int) {
	for _, i := range members {
		visitResource(pd.ResourceProfiles().At(i), s.choose)
	}
}

// resources moves resources to a message of their own.
func (s *selection) resources(pd pprofile.Profiles, members []int) pprofile.Profiles {
	s.chooseResources(pd, members)
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
