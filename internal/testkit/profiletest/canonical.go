// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxValueDepth bounds how deep an attribute value is read. What lies deeper counts as equal.
const maxValueDepth = 64

// appendValue appends the canonical form of v to dst: two values are equal when, and only when, their forms are.
func appendValue(dst []byte, v pcommon.Value, depth int) []byte {
	dst = append(dst, byte(v.Type()))
	if depth > maxValueDepth {
		return dst
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		dst = appendString(dst, v.Str())
	case pcommon.ValueTypeBool:
		if v.Bool() {
			return append(dst, 1)
		}
		dst = append(dst, 0)
	case pcommon.ValueTypeInt:
		dst = binary.AppendVarint(dst, v.Int())
	case pcommon.ValueTypeDouble:
		dst = binary.LittleEndian.AppendUint64(dst, canonicalDouble(v.Double()))
	case pcommon.ValueTypeBytes:
		dst = appendString(dst, string(v.Bytes().AsRaw()))
	case pcommon.ValueTypeSlice:
		dst = binary.AppendUvarint(dst, uint64(v.Slice().Len()))
		for _, element := range v.Slice().All() {
			dst = appendValue(dst, element, depth+1)
		}
	case pcommon.ValueTypeMap:
		dst = appendMap(dst, v.Map(), depth+1)
	}
	return dst
}

// appendMap appends the canonical form of m, in which the order of the keys does not show. A key that stands twice, which
// the protocol forbids, keeps the order of its values: readers take the first or the last.
func appendMap(dst []byte, m pcommon.Map, depth int) []byte {
	type pair struct{ key, entry string }
	pairs := make([]pair, 0, m.Len())
	for key, value := range m.All() {
		pairs = append(pairs, pair{key, string(appendValue(appendString(nil, key), value, depth))})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	dst = binary.AppendUvarint(dst, uint64(len(pairs)))
	for _, p := range pairs {
		dst = appendString(dst, p.entry)
	}
	return dst
}

// canonicalDouble returns the bits of f with one form for both zeros and one for every NaN.
func canonicalDouble(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case math.IsNaN(f):
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// validText tells whether every string in v is UTF-8.
func validText(v pcommon.Value, depth int) bool {
	if depth > maxValueDepth {
		return true
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return utf8.ValidString(v.Str())
	case pcommon.ValueTypeSlice:
		for _, element := range v.Slice().All() {
			if !validText(element, depth+1) {
				return false
			}
		}
	case pcommon.ValueTypeMap:
		return validPairs(v.Map(), depth+1)
	}
	return true
}

// validPairs tells whether every string in m is UTF-8, its keys included.
func validPairs(m pcommon.Map, depth int) bool {
	for key, value := range m.All() {
		if !utf8.ValidString(key) || !validText(value, depth) {
			return false
		}
	}
	return true
}

// interner numbers contents: equal ones get the same number, in order of their first appearance.
type interner map[string]int64

func (in interner) id(content []byte) int64 {
	if id, ok := in[string(content)]; ok {
		return id
	}
	id := int64(len(in))
	in[string(content)] = id
	return id
}
