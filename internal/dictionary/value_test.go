// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// TestEqualValues compares values that are equal, or differ somewhere, with the oracle. The pairs of maps are in any order.
func TestEqualValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rawA, rawB := drawPair(t, 0)
		a, b, same := value(t, rawA), value(t, rawB), sameRaw(rawA, rawB)
		assert.Equal(t, same, EqualValues(a, b))
		assert.Equal(t, same, sameIndex(a, b))
		if same {
			assert.Equal(t, hashValue(a), hashValue(b))
		}
	})
}

// drawPair draws two values of one form, whose parts are often equal.
func drawPair(t *rapid.T, depth int) (a, b any) {
	n := rapid.IntRange(0, 3).Draw(t, "parts")
	switch kind := rapid.IntRange(0, 9).Draw(t, "form"); {
	case kind == 0:
		return drawRaw(t, 2), drawRaw(t, 2)
	case kind < 3 && depth < 3:
		listA, listB := make([]any, n), make([]any, n)
		for i := range n {
			listA[i], listB[i] = drawPair(t, depth+1)
		}
		return listA, listB
	case kind < 6 && depth < 3:
		mapA, mapB := map[string]any{}, map[string]any{}
		for i := range n {
			key := strconv.Itoa(i)
			mapA[key], mapB[key] = drawPair(t, depth+1)
		}
		if rapid.IntRange(0, 9).Draw(t, "other key") == 0 {
			mapA["a"], mapB["b"] = 1, 1
		}
		return mapA, mapB
	default:
		of := rapid.SampledFrom(rapid.SampledFrom([][]any{
			{nil},
			{"", "a", "A"},
			{int64(0), int64(1)},
			{true, false},
			{[]byte("a"), []byte("b"), []byte("c")},
			{0.0, math.Copysign(0, -1), 1.0},
			{math.NaN(), math.Float64frombits(0xfff8dead00000000), math.Inf(1), math.Inf(-1)},
		}).Draw(t, "values"))
		return of.Draw(t, "a"), of.Draw(t, "b")
	}
}

// sameIndex reports whether a Builder gives two values the same index.
func sameIndex(a, b pcommon.Value) bool {
	builder := New()
	return builder.Attribute(0, 0, a) == builder.Attribute(0, 0, b)
}

// TestEqualValuesWithRepeatedKeys: OTLP forbids repeated keys, but a client can send them. Their order matters then, since
// readers take the first or the last value.
func TestEqualValuesWithRepeatedKeys(t *testing.T) {
	const template = `{"kvlistValue":{"values":[%s]}}`
	list := func(pairs string) pcommon.Value { return fromJSON(t, fmt.Sprintf(template, pairs)) }
	const (
		a1 = `{"key":"a","value":{"intValue":"1"}}`
		a2 = `{"key":"a","value":{"intValue":"2"}}`
		b1 = `{"key":"b","value":{"intValue":"1"}}`
	)
	first := list(a1 + "," + a2 + "," + b1)
	require.Equal(t, 3, first.Map().Len())
	for json, same := range map[string]bool{
		a1 + "," + a2 + "," + b1: true,
		b1 + "," + a1 + "," + a2: true,
		a1 + "," + b1 + "," + a2: true,
		a2 + "," + a1 + "," + b1: false,
		a1 + "," + a1 + "," + b1: false,
		a1 + "," + b1 + "," + b1: false,
		a1 + "," + b1:            false,
	} {
		other := list(json)
		assert.Equal(t, same, EqualValues(first, other), json)
		assert.Equal(t, same, EqualValues(other, first), json)
		assert.Equal(t, same, sameIndex(first, other), json)
	}
}

// TestDeepValues: the cost of hashing and comparing nested maps is linear in their depth. The test counts allocations: one or
// two for each compared map.
func TestDeepValues(t *testing.T) {
	cost := func(depth int) float64 {
		a, b := deepMap(depth, false), deepMap(depth, true)
		require.Equal(t, hashValue(a), hashValue(b))
		return testing.AllocsPerRun(1, func() {
			if !EqualValues(a, b) {
				t.Error("the same maps in another order are not equal")
			}
		})
	}
	shallow, deep := cost(1000), cost(10_000)
	assert.LessOrEqual(t, deep, 10.5*shallow)

	a, b := deepMap(10_000, false), deepMap(10_000, true)
	innermost(b).SetInt(2)
	assert.False(t, EqualValues(a, b))
	assert.NotEqual(t, hashValue(a), hashValue(b))
	assert.False(t, sameIndex(a, b))
}

// deepMap nests maps of two keys, in one order or the other.
func deepMap(depth int, turned bool) pcommon.Value {
	v := pcommon.NewValueMap()
	at := v
	for range depth {
		m := at.SetEmptyMap()
		if turned {
			m.PutStr("z", "text")
			at = m.PutEmpty("a")
		} else {
			m.PutEmpty("a")
			m.PutStr("z", "text")
			at, _ = m.Get("a")
		}
	}
	at.SetInt(1)
	return v
}

func innermost(v pcommon.Value) pcommon.Value {
	for v.Type() == pcommon.ValueTypeMap {
		v, _ = v.Map().Get("a")
	}
	return v
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// value makes a value from Go's own types.
func value(t require.TestingT, raw any) pcommon.Value {
	v := pcommon.NewValueEmpty()
	require.NoError(t, v.FromRaw(raw))
	return v
}

// fromJSON makes a value from OTLP's JSON, which can have a key twice. pdata's methods prevent that.
func fromJSON(t require.TestingT, json string) pcommon.Value {
	message := `{"resourceProfiles":[{"resource":{"attributes":[{"key":"k","value":` + json + `}]}}]}`
	pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(message))
	require.NoError(t, err)
	v, found := pd.ResourceProfiles().At(0).Resource().Attributes().Get("k")
	require.True(t, found)
	return v
}

// newTables returns tables with their zero entries.
func newTables() pprofile.ProfilesDictionary {
	d := pprofile.NewProfilesDictionary()
	New().WriteTo(d)
	return d
}

// bytesOf returns the encoded dictionary.
func bytesOf(t require.TestingT, d pprofile.ProfilesDictionary) []byte {
	pd := pprofile.NewProfiles()
	d.CopyTo(pd.Dictionary())
	content, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	return content
}
