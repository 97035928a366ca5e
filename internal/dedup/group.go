// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// Grouping is a plan to move attributes of samples to the resource. A group has the samples of a resource with equal values for
// the keys of the plan. Each group gets a resource of its own: a copy of their resource, with the attributes of the group.
//
// These samples stay in their resource: samples without any of the attributes, with two values for one key, or with an attribute
// index outside of the table. The last two make their profile invalid. Attributes whose value is a list, a map, bytes or empty do
// not count.
type Grouping struct {
	pd   pprofile.Profiles
	keys []string
	// values has a number for each attribute of the dictionary: equal pairs of key and value have equal numbers, counted from 1.
	// 0 is for an attribute that the plan does not move.
	values []int32
	// keyOf and attributeOf are indexed by these numbers. They have the index of the key in keys, and the index of one attribute
	// with this value in the attribute table.
	keyOf, attributeOf []int32
	resources          []groupedResource
	// digests has the hashes of the values that Apply has needed so far, by their numbers.
	digests map[int32][sha256.Size]byte
}

// groupedResource is the plan for one resource.
type groupedResource struct {
	// groups has the values of each group.
	groups []groupValues
	// samples has the group of each sample in the order of the resource, counted from 1. 0 means that the sample stays.
	samples []int32
}

// groupValues has the number of the value for each key, or 0, as four bytes in big-endian order. As a string it can be a map key.
type groupValues string

// PlanGroups finds the samples that have attributes with these keys. It does not change pd, which need not be valid. The plan refers
// to pd: pd must not change before [Grouping.Apply]. The plan is nil if no sample has to move.
func PlanGroups(pd pprofile.Profiles, keys []string) *Grouping {
	g := &Grouping{pd: pd, keys: keys, keyOf: []int32{0}, attributeOf: []int32{0}}
	if !g.number() {
		return nil
	}
	found := false
	g.resources = make([]groupedResource, pd.ResourceProfiles().Len())
	for i, resource := range pd.ResourceProfiles().All() {
		g.resources[i] = g.groupsOf(resource)
		found = found || len(g.resources[i].groups) > 0
	}
	if !found {
		return nil
	}
	return g
}

// number sets values: the number of each attribute of the dictionary. Index 0 of a table means the zero value, whatever
// the table has there. It reports whether the plan can move any attribute.
func (g *Grouping) number() bool {
	dict := g.pd.Dictionary()
	texts, table := dict.StringTable(), dict.AttributeTable()
	keyOfText := make([]int32, texts.Len())
	for i := range keyOfText {
		keyOfText[i] = int32(slices.Index(g.keys, texts.At(i)))
	}
	known := map[dictionary.Attribute]int32{}
	g.values = make([]int32, table.Len())
	for i, attribute := range table.All() {
		text := attribute.KeyStrindex()
		if i == 0 || text <= 0 || int(text) >= len(keyOfText) || keyOfText[text] < 0 {
			continue
		}
		key := keyOfText[text]
		content := dictionary.NewAttribute(key, 0, attribute.Value())
		if content.Kind == pcommon.ValueTypeEmpty || content.Value != (pcommon.Value{}) {
			continue // the plan does not group by values of this type
		}
		if known[content] == 0 {
			known[content] = int32(len(g.keyOf))
			g.keyOf = append(g.keyOf, key)
			g.attributeOf = append(g.attributeOf, int32(i))
		}
		g.values[i] = known[content]
	}
	return len(known) > 0
}

// groupsOf groups the samples of a resource. If the attributes of the resource or of a scope are invalid, for example nested too
// deep to be copied, all samples stay: the deduplication then handles the invalid resource.
func (g *Grouping) groupsOf(resource pprofile.ResourceProfiles) (r groupedResource) {
	valid := hasValidContainers(resource)
	groups := map[groupValues]int32{}
	values := make([]byte, 4*len(g.keys))
	for _, scope := range resource.ScopeProfiles().All() {
		for _, profile := range scope.Profiles().All() {
			for _, sample := range profile.Samples().All() {
				group := int32(0)
				if valid && g.valuesOf(sample, values) {
					group = groups[groupValues(values)]
					if group == 0 {
						r.groups = append(r.groups, groupValues(values))
						group = int32(len(r.groups))
						groups[groupValues(values)] = group
					}
				}
				r.samples = append(r.samples, group)
			}
		}
	}
	return r
}

// hasValidContainers reports whether the attributes of a resource and of its scopes are valid.
func hasValidContainers(resource pprofile.ResourceProfiles) bool {
	if _, err := checkAttributes(resource.Resource().Attributes()); err != nil {
		return false
	}
	for _, scope := range resource.ScopeProfiles().All() {
		if _, err := checkAttributes(scope.Scope().Attributes()); err != nil {
			return false
		}
	}
	return true
}

// valuesOf writes the values of a sample in the form of groupValues. It reports false if the sample stays.
func (g *Grouping) valuesOf(sample pprofile.Sample, values []byte) (found bool) {
	clear(values)
	for _, i := range sample.AttributeIndices().All() {
		if i < 0 || int(i) >= len(g.values) {
			return false
		}
		value := g.values[i]
		if value == 0 {
			continue
		}
		at := values[4*g.keyOf[value]:]
		if before := binary.BigEndian.Uint32(at); before != 0 && before != uint32(value) {
			return false
		}
		binary.BigEndian.PutUint32(at, uint32(value))
		found = true
	}
	return found
}
