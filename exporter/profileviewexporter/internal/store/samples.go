// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Samples are the samples of a profile, with the stacks and labels of a table.
type Samples struct {
	// encoded has for each sample the difference of its stack to that before it, its labels, and its values, as varints.
	encoded []byte
	// Totals are the sums of the values, by sample type.
	Totals []int64
}

// Sample is a sample with a value for each sample type.
type Sample struct {
	Stack, Labels uint32
	Values        []int64
}

// bytes returns the memory of the samples.
func (s *Samples) bytes() int64 { return int64(cap(s.encoded)) + 8*int64(cap(s.Totals)) }

// All iterates over the samples, in the order of their stacks. Values is valid until the next sample.
func (s *Samples) All(yield func(Sample) bool) {
	one := Sample{Values: make([]int64, len(s.Totals))}
	rest := s.encoded
	next := func() uint64 {
		if rest[0] < 0x80 { // most numbers
			v := uint64(rest[0])
			rest = rest[1:]
			return v
		}
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return v
	}
	for len(rest) > 0 {
		one.Stack += uint32(next())
		one.Labels = uint32(next())
		for i := range one.Values {
			v := next()
			one.Values[i] = int64(v>>1) ^ -int64(v&1)
		}
		if !yield(one) {
			return
		}
	}
}

// sampleKey says what a sample is of. row is its position in the pprof.
type sampleKey struct {
	stack, labels uint32
	row           int
}

// sampleBytes is the most memory for the samples of a pprof, for each: its key, and its encoding while that grows to the double size.
func sampleBytes(types int) int64 {
	const growth = 3
	return sizeOf[sampleKey]() + growth*int64(2*binary.MaxVarintLen32+types*binary.MaxVarintLen64)
}

// newSamples returns samples with some values for each. Equal samples become one.
func newSamples(keys []sampleKey, values []int64, types int) Samples {
	slices.SortFunc(keys, func(a, b sampleKey) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.labels, b.labels), cmp.Compare(a.row, b.row))
	})
	s := Samples{Totals: make([]int64, types)}
	sum := make([]int64, types)
	previous := uint32(0)
	for i := 0; i < len(keys); {
		k := keys[i]
		clear(sum)
		for ; i < len(keys) && keys[i].stack == k.stack && keys[i].labels == k.labels; i++ {
			for column, v := range values[keys[i].row*types:][:types] {
				sum[column] += v
			}
		}
		s.encoded = binary.AppendUvarint(s.encoded, uint64(k.stack-previous))
		s.encoded = binary.AppendUvarint(s.encoded, uint64(k.labels))
		for column, v := range sum {
			s.encoded = binary.AppendVarint(s.encoded, v)
			s.Totals[column] += v
		}
		previous = k.stack
	}
	s.encoded = slices.Clip(slices.Clone(s.encoded))
	return s
}
