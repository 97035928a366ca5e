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

// Memory estimates the memory of a value in addition to its element in a list. It is not recursive, since a deeply nested
// value would overflow the stack.
func Memory(value pcommon.Value) int {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return stringBytes + len(value.Str())
	case pcommon.ValueTypeBytes:
		return listBytes + value.Bytes().Len()
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		return nestedMemory(value)
	default:
		return 8
	}
}

// nestedMemory is Memory for a list or map. It keeps the nested lists and maps that it still has to visit in a slice.
func nestedMemory(value pcommon.Value) int {
	total := 0
	add := func(waiting []pcommon.Value, item pcommon.Value) []pcommon.Value {
		if t := item.Type(); t == pcommon.ValueTypeMap || t == pcommon.ValueTypeSlice {
			return append(waiting, item)
		}
		total += Memory(item)
		return waiting
	}
	for waiting := []pcommon.Value{value}; len(waiting) > 0; {
		last := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		total += listBytes
		if last.Type() == pcommon.ValueTypeMap {
			for key, item := range last.Map().All() {
				total += KeyValueBytes + len(key)
				waiting = add(waiting, item)
			}
			continue
		}
		for _, item := range last.Slice().All() {
			total += ValueBytes
			waiting = add(waiting, item)
		}
	}
	return total
}
