// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// maxValueBytes is how many bytes of a value are used.
const maxValueBytes = 1024

// value is the value of one key. A missing value differs from an empty one.
type value struct {
	text string
	set  bool
}

// plan groups the resources of a message by their values.
type plan struct {
	// groups has the group of each resource.
	groups []int
	// values has the values of each group, one for each key.
	values [][]value
}

// valuesOf returns the values of a group, if there is that group.
func (p *plan) valuesOf(group int) []value {
	if group < len(p.values) {
		return p.values[group]
	}
	return nil
}

// plan returns the groups of a message, in the order in which they occur.
func (p *promoter) plan(pd pprofile.Profiles) plan {
	resources := pd.ResourceProfiles()
	result := plan{groups: make([]int, resources.Len())}
	known := map[string]int{}
	var name strings.Builder
	for i, resource := range resources.All() {
		values := p.valuesOf(resource.Resource().Attributes())
		name.Reset()
		for _, v := range values {
			name.WriteString(strconv.FormatBool(v.set))
			name.WriteString(strconv.Quote(v.text))
		}
		group, found := known[name.String()]
		if !found {
			group = len(result.values)
			known[name.String()] = group
			result.values = append(result.values, values)
		}
		result.groups[i] = group
	}
	return result
}

// valuesOf returns the value of each key.
func (p *promoter) valuesOf(attributes pcommon.Map) []value {
	values := make([]value, len(p.keys))
	for i, key := range p.keys {
		if v, found := attributes.Get(key); found {
			values[i] = value{text: textOf(v), set: true}
		}
	}
	return values
}

// textOf returns a value as text for metadata: shortened, and valid UTF-8.
func textOf(v pcommon.Value) string {
	text := attributevalue.Text(v)
	if len(text) > maxValueBytes {
		text = text[:maxValueBytes]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
