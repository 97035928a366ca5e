// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// maxSampleBytes is the most bytes that a sample needs without its locations, values and labels: three tags and lengths.
const maxSampleBytes = 3 * (1 + 5)

// maxValueBytes is the most bytes that a value needs.
const maxValueBytes = 10

// rowsAhead is the number of rows whose memory counts at once.
const rowsAhead = 64

// beginRow checks the entries that a new row refers to, adds its size, and adds space for its values.
func (t *encoding) beginRow(row int, id dictionary.SampleIdentity, attributes []int32) error {
	j := &t.joining
	stack, err := t.packStack(id.Stack, row)
	if err != nil {
		return err
	}
	j.size += maxSampleBytes + stack.bytes()
	if len(attributes) > 0 {
		labels, err := t.labels.size(attributes)
		if err != nil {
			return err
		}
		j.size += labels
	}
	if id.Link != 0 {
		j.size += maxLinkBytes
	}
	if err := t.fits(j.size + 8*(len(j.values)+j.width)); err != nil {
		return err
	}
	j.rowBytes += rowMemory + indexMemory*len(attributes)
	if j.rowBytes > j.rowsLargest {
		if err := t.memory.growTo(&j.rowsLargest, j.rowBytes+rowsAhead*rowMemory); err != nil {
			return err
		}
	}
	n := len(j.values)
	if j.values, err = growSlice(&t.memory, j.values, j.width); err != nil {
		return err
	}
	j.values = j.values[:n+j.width]
	clear(j.values[n:])
	return nil
}

// packedStack has the range of the encoded location ids of a stack, and the first row with the stack.
type packedStack struct {
	byteRange

	row int32
}

// packStack returns the encoded location ids of a stack. On first use, it checks the stack and everything that it refers to.
func (t *encoding) packStack(stack int32, row int) (packedStack, error) {
	j := &t.joining
	if number := j.stackNumbers.find(stack); number > 0 || stack == 0 {
		return j.stacks[number], nil
	}
	if err := t.badStacks[stack]; err != nil {
		return packedStack{}, err
	}
	if stack < 0 || int(stack) >= t.importer.source.StackTable().Len() {
		return packedStack{}, &dictionary.IndexError{Table: "stack", Index: stack, Len: t.importer.source.StackTable().Len()}
	}
	locations := t.importer.source.StackTable().At(int(stack)).LocationIndices()
	n := locations.Len()
	err := t.fits(j.size + n)
	if err != nil {
		return packedStack{}, err
	}
	packed, err := growSlice(&t.memory, j.packed, pprofwire.MaxIDBytes*n)
	if err != nil {
		return packedStack{}, err
	}
	j.packed = packed
	ids := packed[len(packed) : len(packed)+pprofwire.MaxIDBytes*n]
	size, i := 0, 0
	for {
		size, i = t.locals.locations.packKnown(ids, size, locations, i)
		if i == n {
			break
		}
		location := locations.At(i)
		if !t.importer.locationChecks.known(location) {
			err = t.importer.locationChecks.check(location, t.importer.validateLocation)
		}
		if err != nil {
			err = fmt.Errorf("stack %d: %w", stack, err)
			if n > longList { // Many profiles can have it.
				scratch.Store(&t.badStacks, stack, err)
			}
			return packedStack{}, err
		}
		t.locals.locations.local(location)
	}
	at := packedStack{byteRange{uint32(len(packed)), uint32(len(packed) + size)}, int32(row)}
	j.stackNumbers.local(stack)
	j.stacks = append(j.stacks, at)
	j.packed = packed[:at.end]
	return at, nil
}
