// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The seeds are random per process, so that nobody can send values that collide on purpose. The seeds of mix do not
// depend on stringSeed: if they were hashes of known strings, such a string would cause a multiplication by zero.
var (
	stringSeed = maphash.MakeSeed()
	seedA      = maphash.String(maphash.MakeSeed(), "") | 1
	seedB      = maphash.String(maphash.MakeSeed(), "") | 1
)

// mix adds v to the hash h: it multiplies to 128 bits and combines the halves. After one multiplication, consecutive
// values have evenly spaced hashes. With some seeds these collide in the index; see finish.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^seedA, v^seedB)
	return hi ^ lo
}

// finish completes a hash to which the last value was added by a single mix.
func finish(h uint64) uint64 { return mix(h, 0) }

func hashString(s string) uint64 { return maphash.String(stringSeed, s) }

// hashIndices hashes a list of indices, two at a time, and completes the hash.
func hashIndices(h uint64, list []int32) uint64 {
	h = mix(h, uint64(len(list)))
	if len(list) == 0 {
		return h
	}
	for len(list) >= 2 {
		h = mix(h, uint64(uint32(list[0]))|uint64(uint32(list[1]))<<32)
		list = list[2:]
	}
	if len(list) == 1 {
		h = mix(h, uint64(uint32(list[0])))
	}
	return finish(h)
}

func hashBytes(b []byte) uint64 { return maphash.Bytes(stringSeed, b) }

func (f Function) hash() uint64 {
	h := mix(uint64(uint32(f.Name))<<32|uint64(uint32(f.SystemName)), uint64(uint32(f.Filename)))
	return finish(mix(h, uint64(f.StartLine)))
}

func (m Mapping) hash(attributes []int32) uint64 {
	h := mix(mix(mix(m.Start, m.Limit), m.Offset), uint64(uint32(m.Filename)))
	return hashIndices(h, attributes)
}

func (l Location) hash(lines []Line, attributes []int32) uint64 {
	h := l.hashStart(len(lines))
	for i := range lines {
		h = hashLine(h, &lines[i])
	}
	return hashIndices(h, attributes)
}

// hashStart hashes a location without its lines and attributes.
func (l Location) hashStart(lines int) uint64 {
	return mix(mix(l.Address, uint64(uint32(l.Mapping))), uint64(lines))
}

// hashLine hashes a column only if there is one; a bit beside the function distinguishes the two cases.
func hashLine(h uint64, line *Line) uint64 {
	function := uint64(uint32(line.Function)) << 1
	if line.Column == 0 {
		return mix(mix(h, function), uint64(line.Line))
	}
	return mix(mix(mix(h, function|1), uint64(line.Line)), uint64(line.Column))
}

func (l Link) hash() uint64 {
	high, low := binary.BigEndian.Uint64(l.TraceID[:8]), binary.BigEndian.Uint64(l.TraceID[8:])
	return finish(mix(mix(high, low), binary.BigEndian.Uint64(l.SpanID[:])))
}

func (a *Attribute) hash() uint64 {
	h := hashAttribute(a.Key, a.Unit, a.Kind)
	switch a.Kind {
	case pcommon.ValueTypeStr:
		return mix(h, hashString(a.Text))
	case pcommon.ValueTypeDouble:
		return finish(mix(h, hashDouble(math.Float64frombits(a.Number))))
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return mix(h, hashValue(a.Value))
	default:
		return finish(mix(h, a.Number))
	}
}

func hashAttribute(key, unit int32, kind pcommon.ValueType) uint64 {
	return mix(uint64(uint32(key))<<32|uint64(uint32(unit)), uint64(kind))
}
