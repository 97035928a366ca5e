// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// The memory of an element of a list of attributes or values, with its allocations.
const (
	keyValueMemory = KeyValueSize + 16
	valueMemory    = ValueSize + 16
)

// size is the size of a value.
type size struct {
	// memory is the estimated memory in bytes, without the element of the list that has the value.
	memory int
	// protobuf is the number of bytes on the wire, without what is nested deeper than [attributevalue.MaxDepth].
	protobuf int
}

// sizeOfValue returns the size of a value. Its stack and its own memory do not grow with the depth or the length of a value of
// at most [attributevalue.MaxDepth] levels.
func sizeOfValue(value pcommon.Value) size {
	var m measurement
	total := m.value(value, attributevalue.MaxDepth)
	total.memory += m.deeperMemory()
	return total
}

// MapMemory estimates the memory of attributes.
func MapMemory(attributes pcommon.Map) int {
	var m measurement
	return m.pairs(attributes, attributevalue.MaxDepth).memory + m.deeperMemory()
}

// measurement measures values level by level. deeper has the lists and maps that are nested too deep for one recursion.
type measurement struct{ deeper []pcommon.Value }

// deeperMemory returns the memory of all values in deeper.
func (m *measurement) deeperMemory() (total int) {
	for len(m.deeper) > 0 {
		last := m.deeper[len(m.deeper)-1]
		m.deeper = m.deeper[:len(m.deeper)-1]
		total += m.value(last, attributevalue.MaxDepth).memory
	}
	return total
}

// value returns the size of up to this many levels of lists and maps. It adds those of the next level to deeper.
func (m *measurement) value(v pcommon.Value, levels int) size {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return size{StringSize + len(v.Str()), FieldBytes(len(v.Str()))}
	case pcommon.ValueTypeBytes:
		return size{ListSize + v.Bytes().Len(), FieldBytes(v.Bytes().Len())}
	case pcommon.ValueTypeBool:
		return size{NumberSize, 2}
	case pcommon.ValueTypeInt:
		return size{NumberSize, 1 + protowire.SizeVarint(uint64(v.Int()))}
	case pcommon.ValueTypeDouble:
		return size{NumberSize, 1 + protowire.SizeFixed64()}
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		if levels == 0 {
			m.deeper = append(m.deeper, v)
			return size{}
		}
		items := size{}
		if v.Type() == pcommon.ValueTypeMap {
			items = m.pairs(v.Map(), levels-1)
		} else {
			for _, item := range v.Slice().All() {
				one := m.value(item, levels-1)
				items.memory += valueMemory + one.memory
				items.protobuf += FieldBytes(one.protobuf)
			}
		}
		return size{ListSize + items.memory, FieldBytes(items.protobuf)}
	default:
		return size{memory: NumberSize}
	}
}

// pairs returns the size of the pairs of a map, with up to this many levels of each.
func (m *measurement) pairs(pairs pcommon.Map, levels int) (total size) {
	for key, item := range pairs.All() {
		one := m.value(item, levels)
		total.memory += keyValueMemory + len(key) + one.memory
		pair := FieldBytes(one.protobuf)
		if key != "" {
			pair += FieldBytes(len(key))
		}
		total.protobuf += FieldBytes(pair)
	}
	return total
}
