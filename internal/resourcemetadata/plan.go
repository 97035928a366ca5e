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

// maxValueBytes limits the length of a value. The rest is cut off.
const maxValueBytes = 1024

// value is the value of one key. set is false if the resource has no such attribute; an empty value is set.
type value struct {
	text string
	set  bool
}

// plan groups the resources of a message by their values.
type plan struct {
	// groups maps the index of a resource to the index of its group.
	groups []int
	// values has the values of each group, one per key.
	values [][]value
}

// valuesOf returns the values of a group, or nil if the group does not exist.
func (p *plan) valuesOf(group int) []value {
	if group < len(p.values) {
		return p.values[group]
	}
	return nil
}

// plan groups the resources of a message. The groups are in the order of their first resource.
func (c *metadataConsumer) plan(pd pprofile.Profiles) plan {
	resources := pd.ResourceProfiles()
	result := plan{groups: make([]int, resources.Len())}
	groupsByName := map[string]int{}
	var name strings.Builder
	for i, resource := range resources.All() {
		values := c.valuesOf(resource.Resource().Attributes())
		name.Reset()
		for _, v := range values {
			name.WriteString(strconv.FormatBool(v.set))
			name.WriteString(strconv.Quote(v.text))
		}
		group, found := groupsByName[name.String()]
		if !found {
			group = len(result.values)
			groupsByName[name.String()] = group
			result.values = append(result.values, values)
		}
		result.groups[i] = group
	}
	return result
}

// valuesOf returns the value of each key.
func (c *metadataConsumer) valuesOf(attributes pcommon.Map) []value {
	values := make([]value, len(c.keys))
	for i, key := range c.keys {
		if v, found := attributes.Get(key); found {
			values[i] = value{text: textOf(v), set: true}
		}
	}
	return values
}

// textOf returns a value as text for metadata: at most maxValueBytes, and valid UTF-8.
func textOf(v pcommon.Value) string {
	text := attributevalue.Text(v)
	if len(text) > maxValueBytes {
		text = text[:maxValueBytes]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
