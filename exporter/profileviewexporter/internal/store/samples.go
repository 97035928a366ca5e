// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
)

// Samples are the samples of a profile, with the stacks and labels of a table.
type Samples struct {
	// encoded has for each sample the difference of its stack to that before it, its labels, and its values, as varints.
	encoded []byte
	// Totals are the sums of the values, by sample type.
	Totals []int64
	// Number is the number of samples.
	Number int
}

// Sample is a sample with a value for each sample type.
type Sample struct {
	Stack, Labels uint32
	Values        []int64
}

// Bytes returns the memory of the samples.
func (s *Samples) Bytes() int64 { return int64(cap(s.encoded)) + 8*int64(cap(s.Totals)) }

// All returns the samples, in the order of their stacks. Values is valid until the next sample.
func (s *Samples) All() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
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
}

// collector collects the samples of a profile.
type collector struct {
	types  int
	keys   []sampleKey
	values []int64
}

type sampleKey struct {
	stack, labels uint32
	// row is the position of the values, in units of the number of types.
	row int
}

func newCollector(types int) *collector { return &collector{types: types} }

// holds returns whether one more sample fits without more memory.
func (c *collector) holds() bool {
	return len(c.keys) < cap(c.keys) && len(c.values)+c.types <= cap(c.values)
}

// mostBytes returns the most memory that the collector needs while a sample is added, and for encoding all samples then.
func (c *collector) mostBytes() int64 {
	const growth = 3 // the old memory, and the new memory of the double size
	return growth * int64(len(c.keys)+leastSlots) * (rowBytes[sampleKey]() + 8*int64(c.types) + encodedBytes(c.types))
}

// encodedBytes is the most memory for an encoded sample.
func encodedBytes(types int) int64 {
	return int64(2*binary.MaxVarintLen32 + types*binary.MaxVarintLen64)
}

func (c *collector) add(stack, labels uint32, values []int64) {
	c.keys = append(c.keys, sampleKey{stack, labels, len(c.keys)})
	c.values = append(c.values, values...)
}

func (c *collector) at(k sampleKey) []int64 { return c.values[k.row*c.types : (k.row+1)*c.types] }

// encode returns the samples. Equal samples become one.
func (c *collector) encode() Samples {
	slices.SortFunc(c.keys, func(a, b sampleKey) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.labels, b.labels), cmp.Compare(a.row, b.row))
	})
	s := Samples{Totals: make([]int64, c.types)}
	previous := uint32(0)
	for i := 0; i < len(c.keys); {
		k := c.keys[i]
		sum := c.at(k)
		for i++; i < len(c.keys) && c.keys[i].stack == k.stack && c.keys[i].labels == k.labels; i++ {
			for column, v := range c.at(c.keys[i]) {
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
		s.Number++
	}
	s.encoded = slices.Clip(slices.Clone(s.encoded))
	return s
}
