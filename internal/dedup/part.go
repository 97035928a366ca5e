// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// PartResources parts pd by resource: groups says for each resource which message it goes to, 0 to n-1, and take gets
// these in order, each with only the entries that it needs. It goes on until take returns false.
//
// pd need not be canonical, but a reference that leads nowhere is an error, before take is called. pd must not be
// read-only; unless there is one group only, its content is moved and it must not be used any more.
func PartResources(pd pprofile.Profiles, groups []int, n int, take func(group int, part pprofile.Profiles) bool) error {
	_, err := partResources(pd, groups, 0, n, take)
	return err
}

func partResources(pd pprofile.Profiles, groups []int, from, to int, take func(int, pprofile.Profiles) bool) (more bool, err error) {
	if to-from <= 1 {
		return take(from, pd), nil
	}
	m := newMover()
	shares := min(to-from, maxShares)
	parts, partGroups := make([]pprofile.Profiles, shares), make([][]int, shares)
	for i := range shares {
		parts[i], partGroups[i] = m.resources(pd, groups, from+share(to-from, i, shares), from+share(to-from, i+1, shares))
	}
	if m.err != nil {
		return false, fmt.Errorf("cannot part a message: %w", m.err)
	}
	for i := range shares {
		part := parts[i]
		parts[i] = pprofile.Profiles{} // What was taken is to be free.
		more, err = partResources(part, partGroups[i], from+share(to-from, i, shares), from+share(to-from, i+1, shares), take)
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// resources moves the resources of groups from to to-1 to a message of their own.
func (m *mover) resources(pd pprofile.Profiles, groups []int, from, to int) (pprofile.Profiles, []int) {
	m.begin(pd.Dictionary())
	part := pprofile.NewProfiles()
	var partGroups []int
	for i, resource := range pd.ResourceProfiles().All() {
		if groups[i] < from || groups[i] >= to {
			continue
		}
		partGroups = append(partGroups, groups[i])
		toResource := part.ResourceProfiles().AppendEmpty()
		resource.MoveTo(toResource)
		for _, scope := range toResource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				m.rewrite(profile)
			}
		}
	}
	m.builder.WriteTo(part.Dictionary())
	return part, partGroups
}
