// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The values have at most [attributevalue.MaxDepth] levels. The callers check this for values from outside.

// hashValue hashes a value of any type. Equal values, see EqualValues, have equal hashes.
func hashValue(v pcommon.Value) uint64 {
	kind := uint64(v.Type())
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return mix(kind, hashString(v.Str()))
	case pcommon.ValueTypeInt:
		return mix(kind, uint64(v.Int()))
	case pcommon.ValueTypeBool:
		if v.Bool() {
			return mix(kind, 1)
		}
		return mix(kind, 0)
	case pcommon.ValueTypeDouble:
		return mix(kind, hashDouble(v.Double()))
	case pcommon.ValueTypeBytes:
		return mix(kind, hashBytes(v.Bytes().AsRaw()))
	case pcommon.ValueTypeSlice:
		h := mix(kind, uint64(v.Slice().Len()))
		for _, item := range v.Slice().All() {
			h = mix(h, hashValue(item))
		}
		return h
	case pcommon.ValueTypeMap:
		return mix(kind, hashMap(v.Map()))
	case pcommon.ValueTypeEmpty:
	}
	return kind
}

// hashMap hashes a map. The order of its pairs does not matter. Equal maps, see EqualMaps, have equal hashes.
func hashMap(m pcommon.Map) uint64 {
	h := uint64(m.Len())
	for key, value := range m.All() {
		h += mix(hashString(key), hashValue(value))
	}
	return h
}

// hashDouble returns one hash for all forms of zero, and another one for all forms of NaN.
func hashDouble(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case math.IsNaN(f):
		return 1
	default:
		return math.Float64bits(f)
	}
}

func equalDoubles(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// EqualValues compares type and content. Doubles are compared by ==, but NaN equals NaN. The order of the pairs of a map
// does not matter. The time is linear in the size of the values, except for sorting maps whose orders differ.
func EqualValues(a, b pcommon.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case pcommon.ValueTypeStr:
		return a.Str() == b.Str()
	case pcommon.ValueTypeInt:
		return a.Int() == b.Int()
	case pcommon.ValueTypeBool:
		return a.Bool() == b.Bool()
	case pcommon.ValueTypeDouble:
		return equalDoubles(a.Double(), b.Double())
	case pcommon.ValueTypeBytes:
		return a.Bytes().Equal(b.Bytes())
	case pcommon.ValueTypeSlice:
		return equalSlices(a.Slice(), b.Slice())
	case pcommon.ValueTypeMap:
		return EqualMaps(a.Map(), b.Map())
	case pcommon.ValueTypeEmpty:
	}
	return true
}

func equalSlices(a, b pcommon.Slice) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !EqualValues(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

// EqualMaps compares two maps by value; the order of their pairs does not matter, see [EqualValues].
func EqualMaps(a, b pcommon.Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	// Each value is compared only once. Comparing in the given order first and then in sorted order would double the work
	// with each level of nesting.
	pairsA, pairsB := sortedPairs(a), sortedPairs(b)
	for i := range pairsA {
		if pairsA[i].key != pairsB[i].key {
			return false
		}
	}
	for i := range pairsA {
		if !EqualValues(pairsA[i].value, pairsB[i].value) {
			return false
		}
	}
	return true
}

type pair struct {
	key   string
	value pcommon.Value
}

func sortedPairs(m pcommon.Map) []pair {
	pairs := make([]pair, 0, m.Len())
	for key, value := range m.All() {
		pairs = append(pairs, pair{key, value})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	return pairs
}
