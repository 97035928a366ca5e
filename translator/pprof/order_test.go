// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ordered returns a pprof with a location for each stack, and the values of the samples.
func ordered(stacks []int, values [][]int64) *payload {
	types := make([]string, len(values[0]))
	for i := range types {
		types[i] = fmt.Sprintf("type%d/count", i)
	}
	p := newPayload(types...)
	for i := range len(stacks) {
		p.location(pprofwire.Location{ID: uint64(i + 1), Address: uint64(i + 1)})
	}
	for i, stack := range stacks {
		p.sample([]uint32{uint32(stack + 1)}, values[i], num("sample", int64(i), ""))
	}
	return p
}

// sampleNumbers returns the label sample of all samples in their order.
func sampleNumbers(t require.TestingT, raw []byte) (numbers []int64) {
	p, err := profile.ParseData(raw)
	require.NoError(t, err)
	for _, s := range p.Sample {
		numbers = append(numbers, append(s.NumLabel["sample"], 0)[0])
	}
	return numbers
}

// TestOrderOfSamples: samples keep their order. OTLP has one profile for each type, without the samples that are 0 there. The first of
// them is the one of the last type.
func TestOrderOfSamples(t *testing.T) {
	for name, values := range map[string][][]int64{
		"a heap, whose last type lacks samples": {{1, 1, 0}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}, {1, 1, 0}},
		"all types lack samples":                {{1, 0, 0}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {0, 1, 0}},
		"types without common samples":          {{1, 0}, {0, 1}, {1, 0}, {0, 1}},
		"samples without a value":               {{0, 0}, {1, 0}, {0, 0}, {0, 1}},
	} {
		stacks, want := []int{}, []int64{}
		for i := range values {
			stacks, want = append(stacks, i), append(want, int64(i))
		}
		pd := decode(t, ordered(stacks, values), pprof.DecodeOptions{}).pd
		assert.Equal(t, want, sampleNumbers(t, encodeOne(t, pprof.NewEncoder(pprof.EncodeOptions{}), pd)), name)
	}
}

// TestGeneratedOrderOfSamples: samples of different stacks keep their order. Samples of equal stacks keep it where a type has all of
// them, or where others are between them; the message does not have the order of the others. In any case, the samples of each type
// keep theirs.
func TestGeneratedOrderOfSamples(t *testing.T) {
	encoder, decoder := pprof.NewEncoder(pprof.EncodeOptions{}), pprof.NewDecoder(pprof.DecodeOptions{})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "samples")
		width := rapid.IntRange(1, 4).Draw(t, "types")
		stacks := make([]int, n)
		distinct := rapid.Bool().Draw(t, "distinct stacks")
		complete := rapid.Bool().Draw(t, "a type has all samples")
		values := make([][]int64, n)
		want := make([]int64, n)
		for i := range n {
			want[i] = int64(i)
			if stacks[i] = i; !distinct {
				stacks[i] = rapid.IntRange(0, n-1).Draw(t, "stack")
			}
			values[i] = rapid.SliceOfN(rapid.Int64Range(0, 1), width, width).Draw(t, "values")
			if complete {
				values[i][0] = 1
			}
		}
		pd, _, err := decoder.Decode(ordered(stacks, values).bytes(), pprof.Source{})
		require.NoError(t, err)
		got := sampleNumbers(t, encodeOne(t, encoder, pd))
		require.ElementsMatch(t, want, got)
		if distinct || complete {
			require.Equal(t, want, got)
		}
		for typ := range width {
			last := int64(-1)
			for _, number := range got {
				if values[number][typ] != 0 {
					require.Greater(t, number, last, "type %d", typ)
					last = number
				}
			}
		}
	})
}

// TestContradictoryOrder: profiles whose orders contradict each other become a pprof with all samples.
func TestContradictoryOrder(t *testing.T) {
	m := newMessage()
	stacks := []int32{m.stack("a"), m.stack("b"), m.stack("c")}
	for typ, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 2}} {
		p := m.profile(fmt.Sprintf("type%d/count", typ))
		for _, i := range order {
			m.sample(p, stacks[i], []int64{int64(i + 1)})
		}
	}
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	assert.ElementsMatch(t, []string{"a [1 0 1]", "b [2 4 2]", "c [3 3 3]"}, all[0].samples())
}
