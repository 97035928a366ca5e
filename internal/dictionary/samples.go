// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "slices"

// SampleTable numbers samples by their identity: stack, set of attributes, and link. Call Reset before the first use.
type SampleTable struct {
	samples    []SampleIdentity
	attributes lists
	index      hashIndex
	// next is the sample after the last one: the profiles of one pprof have their samples in the same order.
	next int
}

// SampleIdentity is the identity of a sample, without its attributes.
type SampleIdentity struct {
	Stack, Link int32
}

// Reset removes all samples and makes room for n.
func (t *SampleTable) Reset(n int) {
	t.samples = t.samples[:0]
	t.next = 0
	t.attributes.reset()
	t.index.reset(n)
}

// Len returns the number of samples.
func (t *SampleTable) Len() int { return len(t.samples) }

// Index returns the number of the sample with this identity. attributes must be sorted. Index does not keep it.
func (t *SampleTable) Index(id SampleIdentity, attributes []int32) (number int, added bool) {
	if t.next < len(t.samples) && t.Equals(t.next, id, attributes) {
		t.next++
		return t.next - 1, false
	}
	h := hashIndices(mix(uint64(uint32(id.Stack))<<32|uint64(uint32(id.Link)), 0), attributes)
	entry, added := t.index.add(h, len(t.samples), func(entry int32) bool { return t.Equals(int(entry), id, attributes) })
	if added {
		t.Append(id, attributes)
	}
	t.next = int(entry) + 1
	return int(entry), added
}

// Append adds a sample that no earlier one equals. Index does not find it: a caller that knows where it is saves two look-ups.
func (t *SampleTable) Append(id SampleIdentity, attributes []int32) (number int) {
	t.samples = append(t.samples, id)
	t.attributes.add(attributes)
	return len(t.samples) - 1
}

// Equals reports whether sample number i has this identity.
func (t *SampleTable) Equals(i int, id SampleIdentity, attributes []int32) bool {
	return t.samples[i] == id && slices.Equal(t.attributes.at(i), attributes)
}

// At returns sample number i and its attributes. They are valid until the next call of Index or Reset.
func (t *SampleTable) At(i int) (SampleIdentity, []int32) {
	return t.samples[i], t.attributes.at(i)
}

// Kept returns the memory of the table in bytes, including unused capacity.
func (t *SampleTable) Kept() int64 {
	return kept(t.samples) + t.attributes.kept() + kept(t.index.slots)
}
