// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"
)

// The memory of an element of a list of attributes or values on a 64-bit system, with its allocations, and of numbers and
// the headers of strings and lists.
const (
	KeyValueBytes = 40 + 16
	ValueBytes    = 16 + 16

	numberBytes = 8
	stringBytes = 16
	listBytes   = 24
)

// Size is the size of a value.
type Size struct {
	// Memory is the estimated memory in bytes, without the element of the list that has the value.
	Memory int
	// Protobuf is the number of bytes on the wire, without what is nested deeper than [MaxDepth].
	Protobuf int
}

// SizeOf returns the size of a value. Its stack and its own memory do not grow with the depth or the length of a value of
// at most [MaxDepth] levels.
func SizeOf(value pcommon.Value) Size {
	var m measurement
	size := m.value(value, MaxDepth)
	if len(m.deeper) > 0 {
		size.Memory += m.deeperMemory()
	}
	return size
}

// MapMemory estimates the memory of attributes.
func MapMemory(attributes pcommon.Map) int {
	var m measurement
	return m.pairs(attributes, MaxDepth).Memory + m.deeperMemory()
}

// measurement measures values level by level. deeper has the lists and maps that are nested too deep for one recursion.
type measurement struct{ deeper []pcommon.Value }

// deeperMemory returns the memory of all values in deeper.
func (m *measurement) deeperMemory() (total int) {
	for len(m.deeper) > 0 {
		last := m.deeper[len(m.deeper)-1]
		m.deeper = m.deeper[:len(m.deeper)-1]
		total += m.value(last, MaxDepth).Memory
	}
	return total
}

// value returns the size of up to this many levels of lists and maps. It adds those of the next level to deeper.
func (m *measurement) value(v pcommon.Value, levels int) Size {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return Size{stringBytes + len(v.Str()), fieldBytes(len(v.Str()))}
	case pcommon.ValueTypeBytes:
		return Size{listBytes + v.Bytes().Len(), fieldBytes(v.Bytes().Len())}
	case pcommon.ValueTypeBool:
		return Size{numberBytes, 2}
	case pcommon.ValueTypeInt:
		return Size{numberBytes, 1 + protowire.SizeVarint(uint64(v.Int()))}
	case pcommon.ValueTypeDouble:
		return Size{numberBytes, 1 + protowire.SizeFixed64()}
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		if levels == 0 {
			m.deeper = append(m.deeper, v)
			return Size{}
		}
		items := m.items(v, levels-1)
		return Size{listBytes + items.Memory, fieldBytes(items.Protobuf)}
	default:
		return Size{Memory: numberBytes}
	}
}

// items returns the size of the elements of a list or map, with up to this many levels of each.
func (m *measurement) items(v pcommon.Value, levels int) (total Size) {
	if v.Type() == pcommon.ValueTypeMap {
		return m.pairs(v.Map(), levels)
	}
	for _, item := range v.Slice().All() {
		size := m.value(item, levels)
		total.Memory += ValueBytes + size.Memory
		total.Protobuf += fieldBytes(size.Protobuf)
	}
	return total
}

func (m *measurement) pairs(pairs pcommon.Map, levels int) (total Size) {
	for key, item := range pairs.All() {
		size := m.value(item, levels)
		total.Memory += KeyValueBytes + len(key) + size.Memory
		pair := fieldBytes(size.Protobuf)
		if key != "" {
			pair += fieldBytes(len(key))
		}
		total.Protobuf += fieldBytes(pair)
	}
	return total
}

// fieldBytes returns the size of a field with this number of bytes, including its tag and length.
func fieldBytes(bytes int) int { return 1 + protowire.SizeBytes(bytes) }
