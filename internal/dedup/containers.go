// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// containersChange reports whether resources or scopes are equal, empty, or have an attribute twice. The attributes of empty
// ones can be invalid, so they must not be compared.
func (w *work) containersChange() bool {
	if w.reducible {
		return true
	}
	resources := w.pd.ResourceProfiles()
	if findEqualResources(resources) != nil {
		return true
	}
	for _, resource := range resources.All() {
		if findEqualScopes(resource.ScopeProfiles()) != nil {
			return true
		}
	}
	return false
}

// DropEmpty removes the scopes without profiles, and the resources without scopes.
func DropEmpty(pd pprofile.Profiles) {
	pd.ResourceProfiles().RemoveIf(func(r pprofile.ResourceProfiles) bool {
		r.ScopeProfiles().RemoveIf(func(s pprofile.ScopeProfiles) bool { return s.Profiles().Len() == 0 })
		return r.ScopeProfiles().Len() == 0
	})
}

// findEqual returns, for each of n items, the first item that is equal to it, or nil if all differ.
func findEqual(n int, hash func(i int) uint64, equal func(i, j int) bool) []int {
	if n < 2 {
		return nil
	}
	first, several := make([]int, n), false
	byHash := make(map[uint64][]int, n)
	for i := range n {
		first[i] = i
		h := hash(i)
		for _, j := range byHash[h] {
			if equal(j, i) {
				first[i], several = j, true
				break
			}
		}
		if first[i] == i {
			byHash[h] = append(byHash[h], i)
		}
	}
	if !several {
		return nil
	}
	return first
}

func findEqualResources(resources pprofile.ResourceProfilesSlice) []int {
	hash := func(i int) uint64 {
		r := resources.At(i)
		return dictionary.HashResource(r.Resource(), r.SchemaUrl())
	}
	return findEqual(resources.Len(), hash, func(i, j int) bool {
		a, b := resources.At(i), resources.At(j)
		return a.SchemaUrl() == b.SchemaUrl() && dictionary.EqualResources(a.Resource(), b.Resource())
	})
}

func findEqualScopes(scopes pprofile.ScopeProfilesSlice) []int {
	hash := func(i int) uint64 {
		s := scopes.At(i)
		return dictionary.HashScope(s.Scope(), s.SchemaUrl())
	}
	return findEqual(scopes.Len(), hash, func(i, j int) bool {
		a, b := scopes.At(i), scopes.At(j)
		return a.SchemaUrl() == b.SchemaUrl() && dictionary.EqualScopes(a.Scope(), b.Scope())
	})
}

// joinContainers removes empty resources and scopes. It joins equal resources, and then equal scopes of one resource, in
// the first of them.
func joinContainers(pd pprofile.Profiles) {
	resources := pd.ResourceProfiles()
	DropEmpty(pd)
	for attributes := range walk.Attributes(pd) {
		dropCopies(attributes)
	}
	for i, j := range findEqualResources(resources) {
		if i != j {
			resources.At(i).ScopeProfiles().MoveAndAppendTo(resources.At(j).ScopeProfiles())
		}
	}
	for _, resource := range resources.All() {
		scopes := resource.ScopeProfiles()
		for i, j := range findEqualScopes(scopes) {
			if i != j {
				scopes.At(i).Profiles().MoveAndAppendTo(scopes.At(j).Profiles())
			}
		}
	}
	DropEmpty(pd)
}
