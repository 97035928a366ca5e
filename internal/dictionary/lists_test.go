// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.Zero(t, reused.len())
		for _, list := range rapid.SliceOf(rapid.SliceOfN(rapid.Int32Range(-1, 2), 0, 4)).Draw(t, "lists") {
			require.Equal(t, want.index(slices.Clone(list)), reused.Index(list))
			clear(list) // the table has its own copy
		}
		require.Equal(t, len(want.entries), reused.len())
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
