// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// maxSampleBytes is the most that a sample takes beside its locations, values and labels: three tags and lengths.
const maxSampleBytes = 3 * (1 + 5)

// beginRow checks what a new row refers to and adds its size, and makes space for its values.
func (t *encoding) beginRow(id dictionary.SampleIdentity, attributes []int32) error {
	j := &t.joining
	stack, err := t.packStack(id.Stack)
	if err != nil {
		return err
	}
	labels, err := t.labels.size(attributes)
	if err != nil {
		return err
	}
	j.size += maxSampleBytes + stack.bytes() + labels
	if id.Link != 0 {
		j.size += maxLinkBytes
	}
	if err := t.fits(j.size + 8*(len(j.values)+j.width)); err != nil {
		return err
	}
	j.rowBytes += rowMemory + indexMemory*len(attributes)
	if err := t.memory.takeUpTo(&j.rowsTaken, j.rowBytes); err != nil {
		return err
	}
	if j.values, err = grown(&t.memory, j.values, j.width); err != nil {
		return err
	}
	for range j.width {
		j.values = append(j.values, 0)
	}
	return nil
}

// fits tells whether a pprof of so many bytes fits beside those of the message that were written.
func (t *encoding) fits(bytes int) error {
	if size := t.written + bytes; size > t.opts.PprofBytes {
		return pprofwire.TooLarge("bytes of the pprofs of a message", size, t.opts.PprofBytes)
	}
	return nil
}

// packStack returns the place of the packed ids of a stack's locations. On its first use it checks the stack and all that
// it reaches.
func (t *encoding) packStack(stack int32) (place, error) {
	j := &t.joining
	if at, known := j.stacks.find(max(stack, 0)); known || stack == 0 {
		return at, nil
	}
	if stack < 0 || int(stack) >= t.source.stacks.Len() {
		return place{}, &dictionary.IndexError{Table: "stack", Index: stack, Len: t.source.stacks.Len()}
	}
	locations := t.source.stacks.At(int(stack)).LocationIndices()
	n := locations.Len()
	err := t.fits(j.size + n)
	if err != nil {
		return place{}, err
	}
	packed, err := grown(&t.memory, j.packed, pprofwire.MaxIDBytes*n)
	if err != nil {
		return place{}, err
	}
	numbers := &t.locals.locations
	for i := range n {
		location := locations.At(i)
		id, known := numbers.find(location)
		if !known {
			if err := t.source.checkLocation(location); err != nil {
				return place{}, fmt.Errorf("stack %d: %w", stack, err)
			}
			id = numbers.local(location)
		}
		packed = pprofwire.AppendID(packed, id)
	}
	at := j.stacks.set(stack, len(j.packed), len(packed))
	j.packed = packed
	return at, nil
}
