// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Grouping is a plan to move attributes of samples to the resource. The samples of a resource are grouped by the values that they
// have for some keys. Each group gets a resource of its own: that of the samples with these attributes.
//
// Samples without any of the attributes stay where they are, and so do those with two values for one key or with an index that
// leads nowhere, which make their profile invalid. Only texts, numbers and booleans are grouped by.
type Grouping struct {
	pd   pprofile.Profiles
	keys []string
	// values has for each attribute of the dictionary the number of its key and value, or 0 if it is not grouped by. Equal
	// attributes have equal numbers.
	values []int32
	// keyOf and attributeOf have for each such number the key, and one attribute with this value.
	keyOf, attributeOf []int32
	resources          []groupedResource
}

// groupedResource is what a resource becomes.
type groupedResource struct {
	// groups has the values of each group: for each key the number of the value, or 0.
	groups []groupValues
	// samples has the group of each sample, counted from 1, in the order of the resource. 0 stays.
	samples []int32
}

// groupValues has four bytes for each key.
type groupValues string

// attributeContent is the content of an attribute. It is comparable, and makes no copy of a text.
type attributeContent struct {
	key    int
	kind   pcommon.ValueType
	text   string
	number uint64
}

// PlanGroups looks which samples have attributes with these keys. pd is not written to, and need not be valid. The plan is nil if
// there is nothing to do.
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

// number numbers the values. It reports whether there are any.
func (g *Grouping) number() bool {
	dict := g.pd.Dictionary()
	texts, table := dict.StringTable(), dict.AttributeTable()
	keyOfText := make([]int32, texts.Len())
	for i := range keyOfText {
		keyOfText[i] = int32(slices.Index(g.keys, texts.At(i)))
	}
	known := map[attributeContent]int32{}
	g.values = make([]int32, table.Len())
	for i, attribute := range table.All() {
		text := attribute.KeyStrindex()
		if text < 0 || int(text) >= len(keyOfText) || keyOfText[text] < 0 {
			continue
		}
		key := int(keyOfText[text])
		content, ok := groupContentOf(key, attribute.Value())
		if !ok {
			continue
		}
		if known[content] == 0 {
			known[content] = int32(len(g.keyOf))
			g.keyOf = append(g.keyOf, int32(key))
			g.attributeOf = append(g.attributeOf, int32(i))
		}
		g.values[i] = known[content]
	}
	return len(known) > 0
}

// groupContentOf returns the content of an attribute that can be grouped by.
func groupContentOf(key int, value pcommon.Value) (attributeContent, bool) {
	content := attributeContent{key: key, kind: value.Type()}
	switch value.Type() {
	case pcommon.ValueTypeStr:
		content.text = value.Str()
	case pcommon.ValueTypeInt:
		content.number = uint64(value.Int())
	case pcommon.ValueTypeDouble:
		content.number = math.Float64bits(value.Double())
	case pcommon.ValueTypeBool:
		if value.Bool() {
			content.number = 1
		}
	default:
		return content, false
	}
	return content, true
}

// groupsOf groups the samples of a resource. One with attributes that cannot be copied, such as those that are nested too deep, is left
// to the deduplication as it is.
func (g *Grouping) groupsOf(resource pprofile.ResourceProfiles) (r groupedResource) {
	sound := isSound(resource)
	groups := map[groupValues]int32{}
	values := make([]byte, 4*len(g.keys))
	for _, scope := range resource.ScopeProfiles().All() {
		for _, profile := range scope.Profiles().All() {
			for _, sample := range profile.Samples().All() {
				group := int32(0)
				if sound && g.valuesOf(sample, values) {
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

func isSound(resource pprofile.ResourceProfiles) bool {
	if checkAttributes(resource.Resource().Attributes()) != nil {
		return false
	}
	for _, scope := range resource.ScopeProfiles().All() {
		if checkAttributes(scope.Scope().Attributes()) != nil {
			return false
		}
	}
	return true
}

// valuesOf writes the values of a sample. It reports false if the sample stays.
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
