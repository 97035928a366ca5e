// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import "go.opentelemetry.io/collector/pdata/pcommon"

// The memory of an element of a list of attributes or values on a 64-bit system, with its allocations, and of the headers of
// strings and lists.
const (
	KeyValueBytes = 40 + 16
	ValueBytes    = 16 + 16

	stringBytes = 16
	listBytes   = 24
)

// MapMemory estimates the memory of attributes.
func MapMemory(attributes pcommon.Map) int {
	total := 0
	for key, value := range attributes.All() {
		total += KeyValueBytes + len(key) + Memory(value)
	}
	return total
}

// Memory estimates the memory of a value in addition to its element in a list. Its stack and its own memory do not grow with the
// depth or the length of a value of at most [MaxDepth] levels.
func Memory(value pcommon.Value) int {
	var deeper []pcommon.Value
	total := levelsMemory(value, MaxDepth, &deeper)
	for len(deeper) > 0 {
		last := deeper[len(deeper)-1]
		deeper = deeper[:len(deeper)-1]
		total += levelsMemory(last, MaxDepth, &deeper)
	}
	return total
}

// levelsMemory is the memory of this many levels of lists and maps. It adds what is nested deeper to a list.
func levelsMemory(value pcommon.Value, levels int, deeper *[]pcommon.Value) int {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return stringBytes + len(value.Str())
	case pcommon.ValueTypeBytes:
		return listBytes + value.Bytes().Len()
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		if levels == 0 {
			*deeper = append(*deeper, value)
			return 0
		}
		return itemsMemory(value, levels-1, deeper)
	default:
		return 8
	}
}

func itemsMemory(value pcommon.Value, levels int, deeper *[]pcommon.Value) int {
	total := listBytes
	if value.Type() == pcommon.ValueTypeMap {
		for key, item := range value.Map().All() {
			total += KeyValueBytes + len(key) + levelsMemory(item, levels, deeper)
		}
		return total
	}
	for _, item := range value.Slice().All() {
		total += ValueBytes + levelsMemory(item, levels, deeper)
	}
	return total
}
