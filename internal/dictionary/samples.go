// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "slices"

// SampleTable numbers samples by their identity: stack, set of attributes, and link. Make it ready with Reset.
type SampleTable struct {
	samples    []SampleIdentity
	attributes lists
	index      hashIndex
}

// SampleIdentity is what makes two samples the same, without the attributes.
type SampleIdentity struct {
	Stack, Link int32
}

// Reset drops all samples and makes room for n.
func (t *SampleTable) Reset(n int) {
	t.samples = t.samples[:0]
	t.attributes.reset()
	t.index.reset(n)
}

// Len returns the number of samples.
func (t *SampleTable) Len() int { return len(t.samples) }

// Index returns the number of the sample with this identity. attributes is sorted and borrowed for the call only.
func (t *SampleTable) Index(id SampleIdentity, attributes []int32) (number int, added bool) {
	h := hashIndices(mix(uint64(uint32(id.Stack))<<32|uint64(uint32(id.Link)), 0), attributes)
	entry, slot := t.index.first(h)
	for ; entry >= 0; entry, slot = t.index.next(h, slot) {
		if t.samples[entry] == id && slices.Equal(t.attributes.at(int(entry)), attributes) {
			return int(entry), false
		}
	}
	t.index.insert(h, slot, len(t.samples))
	t.samples = append(t.samples, id)
	t.attributes.add(attributes)
	return len(t.samples) - 1, true
}

// At returns sample number i and its attributes, which are valid until the next call of Index or Reset.
func (t *SampleTable) At(i int) (SampleIdentity, []int32) {
	return t.samples[i], t.attributes.at(i)
}
