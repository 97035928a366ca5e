// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"
)

// table numbers values by linear search.
type table[T any] struct {
	entries []T
	equal   func(a, b T) bool
}

func (t *table[T]) index(entry T) int32 {
	for i := range t.entries {
		if t.equal(t.entries[i], entry) {
			return int32(i)
		}
	}
	t.entries = append(t.entries, entry)
	return int32(len(t.entries) - 1)
}

func deepEqual[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

type mappingValue struct {
	Mapping
	Attributes []int32
}

type locationValue struct {
	Location
	Lines      []Line
	Attributes []int32
}

type attributeValue struct {
	Key, Unit int32
	Value     any // of one of Go's own types
}

// tables is the oracle of a Builder.
type tables struct {
	strings    table[string]
	functions  table[Function]
	mappings   table[mappingValue]
	locations  table[locationValue]
	stacks     table[[]int32]
	attributes table[attributeValue]
	links      table[Link]
}

func newOracle() *tables {
	return &tables{
		strings:   table[string]{[]string{""}, deepEqual[string]},
		functions: table[Function]{[]Function{{}}, deepEqual[Function]},
		mappings:  table[mappingValue]{[]mappingValue{{}}, deepEqual[mappingValue]},
		locations: table[locationValue]{[]locationValue{{}}, deepEqual[locationValue]},
		stacks:    table[[]int32]{[][]int32{nil}, deepEqual[[]int32]},
		attributes: table[attributeValue]{[]attributeValue{{}}, func(a, b attributeValue) bool {
			return a.Key == b.Key && a.Unit == b.Unit && sameRaw(a.Value, b.Value)
		}},
		links: table[Link]{[]Link{{}}, deepEqual[Link]},
	}
}

// sameRaw compares values of Go's own types. Unlike for reflect.DeepEqual, NaN equals NaN, and no bytes equal none.
func sameRaw(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameRaw)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			if other, found := b[key]; !found || !sameRaw(a[key], other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// TestBuilderAgainstOracle adds random values to every table. The values are few and small, so that many are repeated.
func TestBuilderAgainstOracle(t *testing.T) {
	reused := New() // no entry of one run is left in the next
	rapid.Check(t, func(t *rapid.T) {
		want, b, again := newOracle(), New(), reused
		again.Reset(Lengths{Strings: rapid.IntRange(0, 100).Draw(t, "expected strings")})
		for range rapid.IntRange(0, 80).Draw(t, "operations") {
			add := drawOperation(t, want)
			index := add(b)
			require.Equal(t, index, add(again), "the same calls give the same indices")
		}
		requireSame(t, want, b)

		written, writtenAgain := pprofile.NewProfilesDictionary(), pprofile.NewProfilesDictionary()
		b.WriteTo(written)
		again.WriteTo(writtenAgain)
		require.Equal(t, bytesOf(t, written), bytesOf(t, writtenAgain))
		requireWritten(t, want, written)
	})
}

// drawOperation draws a value, adds it to the oracle, and returns a function that adds it to a Builder and checks the index.
func drawOperation(t *rapid.T, want *tables) func(*Builder) int32 {
	index := rapid.Int32Range(0, 3)
	number := rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64})
	address := rapid.SampledFrom([]uint64{0, 1, 1 << 32, math.MaxUint64})
	list := rapid.Map(rapid.SliceOfN(index, 0, 3), func(l []int32) []int32 { return append([]int32(nil), l...) })
	set := rapid.Map(list, func(l []int32) []int32 { return SortSet(l, 0) })
	checked := func(want int32, add func(*Builder) int32) func(*Builder) int32 {
		return func(b *Builder) int32 {
			got := add(b)
			require.Equal(t, want, got)
			return got
		}
	}
	switch rapid.IntRange(0, 7).Draw(t, "operation") {
	case 0:
		s := rapid.StringN(0, 2, 4).Draw(t, "string")
		return checked(want.strings.index(s), func(b *Builder) int32 { return b.String(s) })
	case 1:
		s := rapid.StringN(0, 2, 4).Draw(t, "string")
		return checked(want.strings.index(s), func(b *Builder) int32 { return b.StringBytes([]byte(s)) })
	case 2:
		f := Function{index.Draw(t, "name"), index.Draw(t, "system name"), index.Draw(t, "file"), number.Draw(t, "line")}
		return checked(want.functions.index(f), func(b *Builder) int32 { return b.Function(f) })
	case 3:
		m := Mapping{address.Draw(t, "start"), address.Draw(t, "limit"), address.Draw(t, "offset"), index.Draw(t, "file")}
		attributes := set.Draw(t, "attributes")
		return checked(want.mappings.index(mappingValue{m, attributes}), func(b *Builder) int32 { return b.Mapping(m, attributes) })
	case 4:
		l := Location{address.Draw(t, "address"), index.Draw(t, "mapping")}
		var lines []Line
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			lines = append(lines, Line{index.Draw(t, "function"), number.Draw(t, "line"), number.Draw(t, "column")})
		}
		attributes := set.Draw(t, "attributes")
		return checked(want.locations.index(locationValue{l, lines, attributes}), func(b *Builder) int32 {
			return b.Location(l, lines, attributes)
		})
	case 5:
		stack := list.Draw(t, "stack")
		return checked(want.stacks.index(stack), func(b *Builder) int32 { return b.Stack(stack) })
	case 6:
		link := Link{pcommon.TraceID{15: rapid.ByteMax(1).Draw(t, "trace")}, pcommon.SpanID{0: rapid.ByteMax(1).Draw(t, "span")}}
		return checked(want.links.index(link), func(b *Builder) int32 { return b.Link(link) })
	default:
		a := attributeValue{index.Draw(t, "key"), index.Draw(t, "unit"), drawRaw(t, 0)}
		v := value(t, a.Value)
		return checked(want.attributes.index(a), func(b *Builder) int32 { return addAttribute(t, b, a, v) })
	}
}

// addAttribute uses the method for the kind of the value, or the one for all kinds; both must agree.
func addAttribute(t *rapid.T, b *Builder, a attributeValue, v pcommon.Value) int32 {
	index := b.Attribute(a.Key, a.Unit, v)
	switch v := a.Value.(type) {
	case string:
		if a.Unit == 0 {
			require.Equal(t, index, b.StringAttribute(a.Key, v))
			require.Equal(t, index, b.StringBytesAttribute(a.Key, []byte(v)))
		}
	case int64:
		require.Equal(t, index, b.IntAttribute(a.Key, a.Unit, v))
	case bool:
		if a.Unit == 0 && v {
			require.Equal(t, index, b.TrueAttribute(a.Key))
		}
	}
	return index
}

func drawRaw(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 8).Draw(t, "kind")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.SampledFrom([]string{"", "a", "1"}).Draw(t, "text")
	case kind == 2:
		return rapid.SampledFrom([]int64{0, 1, -1}).Draw(t, "int")
	case kind == 3:
		return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Inf(1)}).Draw(t, "double")
	case kind == 4:
		return rapid.Bool().Draw(t, "bool")
	case kind == 5 || depth == 2:
		return []byte(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "bytes"))
	case kind == 6:
		list := make([]any, rapid.IntRange(0, 2).Draw(t, "items"))
		for i := range list {
			list[i] = drawRaw(t, depth+1)
		}
		return list
	default:
		pairs := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "pairs") {
			pairs[rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "key")] = drawRaw(t, depth+1)
		}
		return pairs
	}
}
