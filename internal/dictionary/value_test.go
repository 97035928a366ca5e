// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestEqualValues has classes of values: values are equal if they are of one class.
func TestEqualValues(t *testing.T) {
	nan := math.Float64frombits(0x7ff8000000000001)
	otherNaN := math.Float64frombits(0xfff8dead00000000)
	classes := map[string][]pcommon.Value{
		"empty":        {pcommon.NewValueEmpty(), value(t, nil)},
		"text":         {value(t, "a"), pcommon.NewValueStr("a")},
		"empty text":   {value(t, "")},
		"other text":   {value(t, "A")},
		"int":          {value(t, 1)},
		"int 0":        {value(t, 0)},
		"double":       {value(t, 1.0)},
		"zero":         {value(t, 0.0), value(t, math.Copysign(0, -1))},
		"NaN":          {value(t, nan), value(t, otherNaN)},
		"infinity":     {value(t, math.Inf(1))},
		"-infinity":    {value(t, math.Inf(-1))},
		"true":         {value(t, true)},
		"false":        {value(t, false)},
		"bytes":        {value(t, []byte("a")), value(t, []byte{97})},
		"no bytes":     {value(t, []byte{}), pcommon.NewValueBytes()},
		"list":         {value(t, []any{"a", 1})},
		"list turned":  {value(t, []any{1, "a"})},
		"longer list":  {value(t, []any{"a", 1, nil})},
		"empty list":   {value(t, []any{}), pcommon.NewValueSlice()},
		"list of list": {value(t, []any{[]any{}})},
		"list of NaN":  {value(t, []any{nan, 0.0}), value(t, []any{otherNaN, math.Copysign(0, -1)})},
		"empty map":    {kvlist(t), pcommon.NewValueMap()},
		"map":          {kvlist(t, "a", 1, "b", "x"), kvlist(t, "b", "x", "a", 1)},
		"part of map":  {kvlist(t, "a", 1)},
		"map of null":  {kvlist(t, "a", nil)},
		"other value":  {kvlist(t, "a", 1, "b", "y"), kvlist(t, "b", "y", "a", 1)},
		"crossed map":  {kvlist(t, "a", "x", "b", 1)},
		"map of maps": {
			kvlist(t, "p", kvlist(t, "a", 1, "b", nan), "q", value(t, []any{map[string]any{"c": 1}})),
			kvlist(t, "q", value(t, []any{map[string]any{"c": 1}}), "p", kvlist(t, "b", otherNaN, "a", 1)),
		},
		"list of maps":   {value(t, []any{map[string]any{"a": 1}, map[string]any{"b": 1}})},
		"list of one":    {value(t, []any{map[string]any{"a": 1, "b": 1}})},
		"ten keys":       {tenKeys(t, 0, 1), tenKeys(t, 9, -1), tenKeys(t, 0, 3), tenKeys(t, 5, 7)},
		"ten other keys": {value(t, map[string]any{"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 4, "k5": 5, "k6": 6, "k7": 7, "k8": 8, "k9": 0})},
	}
	for nameA, classA := range classes {
		for nameB, classB := range classes {
			for _, a := range classA {
				for _, b := range classB {
					same := nameA == nameB
					what := fmt.Sprintf("%s and %s: %s, %s", nameA, nameB, a.AsString(), b.AsString())
					assert.Equal(t, same, EqualValues(a, b), what)
					assert.Equal(t, same, sameIndex(a, b), what)
					if same {
						assert.Equal(t, hashValue(a), hashValue(b), what)
					}
				}
			}
		}
	}
}

// tenKeys makes the same map in another order.
func tenKeys(t *testing.T, start, step int) pcommon.Value {
	t.Helper()
	var pairs []any
	for i := range 10 {
		n := ((start+i*step)%10 + 10) % 10
		pairs = append(pairs, fmt.Sprint("k", n), n)
	}
	return kvlist(t, pairs...)
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

func TestTextOfNumbersThatJSONLacks(t *testing.T) {
	value := pcommon.NewValueSlice()
	value.Slice().AppendEmpty().SetDouble(math.NaN())
	value.Slice().AppendEmpty().SetEmptyMap().PutDouble("limit", math.Inf(1))
	value.Slice().AppendEmpty().SetInt(7)
	b := New()
	a := b.AttributeAt(b.Attribute(b.String("key"), 0, value))
	assert.JSONEq(t, `["NaN",{"limit":"Infinity"},7]`, a.AsString())
	assert.True(t, math.IsNaN(value.Slice().At(0).Double()), "the value itself stays")
}
