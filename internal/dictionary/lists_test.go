// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"pgregory.net/rapid"
)

func TestSortSet(t *testing.T) {
	for _, test := range []struct {
		list  []int32
		start int
		want  []int32
	}{
		{nil, 0, nil},
		{[]int32{5}, 0, []int32{5}},
		{[]int32{2, 1}, 0, []int32{1, 2}},
		{[]int32{2, 2}, 0, []int32{2}},
		{[]int32{3, 1, 3, 2, 1, 3}, 0, []int32{1, 2, 3}},
		{[]int32{9, 9, 3, 1, 3}, 2, []int32{9, 9, 1, 3}},
		{[]int32{9, 1}, 1, []int32{9, 1}},
		{[]int32{9, 8}, 2, []int32{9, 8}},
	} {
		assert.Equal(t, test.want, SortSet(slices.Clone(test.list), test.start), "%v from %d", test.list, test.start)
	}
}

// TestListTable numbers random lists and compares the numbers with those of a linear search.
func TestListTable(t *testing.T) {
	var reused ListTable
	rapid.Check(t, func(t *rapid.T) {
		want := table[[]int32]{equal: slices.Equal[[]int32]}
		reused.Reset(rapid.IntRange(0, 50).Draw(t, "expected"))
		require.Zero(t, reused.lists.len())
		for _, list := range rapid.SliceOf(rapid.SliceOfN(rapid.Int32Range(-1, 2), 0, 4)).Draw(t, "lists") {
			require.Equal(t, want.index(slices.Clone(list)), reused.Index(list))
			clear(list) // the table has its own copy
		}
		require.Equal(t, len(want.entries), reused.lists.len())
		for i, list := range want.entries {
			require.True(t, slices.Equal(list, reused.At(int32(i))))
		}
	})
}

// TestSampleTable does the same with identities of samples.
func TestSampleTable(t *testing.T) {
	type sample struct {
		SampleIdentity
		attributes []int32
	}
	var reused SampleTable
	rapid.Check(t, func(t *rapid.T) {
		want := table[sample]{equal: func(a, b sample) bool {
			return a.SampleIdentity == b.SampleIdentity && slices.Equal(a.attributes, b.attributes)
		}}
		reused.Reset(rapid.IntRange(0, 50).Draw(t, "expected"))
		for range rapid.IntRange(0, 50).Draw(t, "samples") {
			s := sample{SampleIdentity{rapid.Int32Range(0, 2).Draw(t, "stack"), rapid.Int32Range(0, 2).Draw(t, "link")}, nil}
			s.attributes = SortSet(rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 3).Draw(t, "attributes"), 0)
			before := len(want.entries)
			number, added := reused.Index(s.SampleIdentity, s.attributes)
			require.Equal(t, int(want.index(sample{s.SampleIdentity, slices.Clone(s.attributes)})), number)
			require.Equal(t, len(want.entries) > before, added)
			clear(s.attributes) // the table has its own copy
		}
		require.Equal(t, len(want.entries), reused.Len())
		for i, s := range want.entries {
			identity, attributes := reused.At(i)
			require.Equal(t, s.SampleIdentity, identity)
			require.True(t, slices.Equal(s.attributes, attributes))
		}
	})
}

func TestPairSet(t *testing.T) {
	t.Parallel()
	var s PairSet
	for range 2 { // the second time it uses the same memory
		const n = 40 // for n × n pairs
		s.Reset(n * n)
		for _, added := range []bool{true, false} {
			for a := range int32(n) {
				for b := range int32(n) {
					assert.Equal(t, added, s.Add(a, b), "%d, %d", a, b)
				}
			}
		}
	}
	assert.Equal(t, int64(8*4096), s.Kept())
}

// candidates returns all entries that may have the hash h, in the order in which they are found.
func candidates(x *hashIndex, h uint64) []int32 {
	var found []int32
	copied := hashIndex{slices.Clone(x.slots), x.used}
	copied.add(h, 0, func(entry int32) bool {
		found = append(found, entry)
		return false
	})
	return found
}

func insert(x *hashIndex, h uint64, entry int) {
	x.add(h, entry, func(int32) bool { return false })
}

// TestIndexOfEqualHashes: entries with equal hashes, or with equal stored parts of them, are all found, each once and in the
// order of insertion, whatever entries are between them.
func TestIndexOfEqualHashes(t *testing.T) {
	var x hashIndex
	x.reset(0)
	var want [4][]int32
	for i := range 2000 {
		group := i % 4
		// The index does not store the lower half: these hashes are equal for it.
		insert(&x, uint64(group)<<32|uint64(i), i)
		want[group] = append(want[group], int32(i))
	}
	for group := range want {
		assert.Equal(t, want[group], candidates(&x, uint64(group)<<32|12345))
	}
	assert.Empty(t, candidates(&x, 4<<32))
}

// TestHashesSpread fills tables with values that differ little, as an attacker would send them to make lookups slow. It does
// not measure time, but how far the entries are from their slots, and how many have the same stored part of the hash. This
// must hold for every seed, since a process keeps its seeds.
func TestHashesSpread(t *testing.T) {
	const n = 12_000 // an index of 16,384 slots is then almost at its maximum load
	defer func(a, b uint64) { seedA, seedB = a, b }(seedA, seedB)
	random := rand.New(rand.NewPCG(1, 2))
	seeds := make([][2]uint64, 25)
	for i := range seeds {
		seeds[i] = [2]uint64{random.Uint64() | 1, random.Uint64() | 1}
	}
	for name, fill := range map[string]func(*Builder, int32) *hashIndex{
		"strings": func(b *Builder, i int32) *hashIndex { b.String(strconv.Itoa(int(i))); return &b.stringIndex },
		"functions of one name": func(b *Builder, i int32) *hashIndex {
			b.Function(Function{Name: 1, StartLine: int64(i)})
			return &b.functionIndex
		},
		"functions": func(b *Builder, i int32) *hashIndex {
			b.Function(Function{Name: i, SystemName: i, Filename: i})
			return &b.functionIndex
		},
		"mappings at round addresses": func(b *Builder, i int32) *hashIndex {
			b.Mapping(Mapping{Start: uint64(i) << 40}, nil)
			return &b.mappingIndex
		},
		"mappings by attributes": func(b *Builder, i int32) *hashIndex {
			b.Mapping(Mapping{}, []int32{i, i + 1})
			return &b.mappingIndex
		},
		"locations by column": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{}, []Line{{Function: 1, Line: 1, Column: int64(i)}}, nil)
			return &b.locationIndex
		},
		"locations by line": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{}, []Line{{}, {Line: -int64(i)}}, nil)
			return &b.locationIndex
		},
		"locations at round addresses": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{Address: uint64(i) << 32}, nil, nil)
			return &b.locationIndex
		},
		"stacks by their root": func(b *Builder, i int32) *hashIndex {
			b.Stack([]int32{1, 2, 3, 4, 5, 6, 7, 8, i})
			return &b.stacks.index
		},
		"stacks by their leaf": func(b *Builder, i int32) *hashIndex {
			b.Stack([]int32{i, 2, 3, 4, 5, 6, 7, 8})
			return &b.stacks.index
		},
		"links by the last byte": func(b *Builder, i int32) *hashIndex {
			b.Link(Link{SpanID: pcommon.SpanID{7: byte(i), 6: byte(i >> 8), 5: byte(i >> 16)}})
			return &b.linkIndex
		},
		"ints": func(b *Builder, i int32) *hashIndex { b.IntAttribute(1, 0, int64(i)); return &b.attributeIndex },
		"keys": func(b *Builder, i int32) *hashIndex { b.TrueAttribute(i); return &b.attributeIndex },
		"maps": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueMap()
			v.Map().PutInt("a", int64(i)) // a short, common key must not weaken the hash
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
		"maps whose values are swapped": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueMap()
			v.Map().PutInt("a", int64(i))
			v.Map().PutInt("b", n-int64(i))
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
		"lists": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueSlice()
			v.Slice().AppendEmpty().SetInt(int64(i % 200))
			v.Slice().AppendEmpty().SetStr(strconv.Itoa(int(i / 200)))
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds {
				seedA, seedB = seed[0], seed[1]
				b := New()
				var index *hashIndex
				for i := range int32(n) {
					index = fill(b, i+1)
				}
				distance, sharing := spread(index)
				assert.GreaterOrEqual(t, index.used, n)
				// With random hashes, the mean is 1.5 at a load of 3/4, and hardly any two share 32 bits.
				assert.Less(t, distance, 2.5, "mean distance of an entry from its place")
				assert.Less(t, sharing, 20, "entries that share what is kept of their hashes")
			}
		})
	}
}

func spread(x *hashIndex) (meanDistance float64, sharing int) {
	mask := uint64(len(x.slots) - 1)
	kept := map[uint64]bool{}
	total := uint64(0)
	for slot, content := range x.slots {
		if content == 0 {
			continue
		}
		total += (uint64(slot) - content>>32) & mask
		if kept[content>>32] {
			sharing++
		}
		kept[content>>32] = true
	}
	return float64(total) / float64(x.used), sharing
}
