// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// What the entries of a message take in the working memory of an encoding, in bytes: what notes their state, and the
// dictionary with its index. Slices that grow stand for twice their length.
const (
	stringMemory    = 80
	attributeMemory = 352 // with its label and the text of that
	linkMemory      = 304 // with the texts of its labels
	entryMemory     = 32  // a function, mapping, location or stack
	profileMemory   = 512
	rowMemory       = 128 // without values
	indexMemory     = 12  // an attribute of a row
	itemMemory      = 160 // an item of an array that becomes labels
)

// allowance counts the memory that the work on a message takes, and asks for it before it is taken.
type allowance struct {
	// reserve is asked with the whole number of bytes. It may be nil.
	reserve        func(bytes int64) error
	taken, granted int64
	// err is the answer of reserve that ended the work on the message.
	err error
}

// reserveStep is the number of bytes that reserve is asked for multiples of, so that it is not asked often.
const reserveStep = 64 << 10

// take asks for so many bytes more. An error that is ErrTooLarge costs the profiles that need them, any other ends the
// work on the message.
func (a *allowance) take(bytes int) error {
	a.taken += int64(bytes)
	if a.err != nil || a.taken <= a.granted || a.reserve == nil {
		return a.err
	}
	want := (a.taken + reserveStep - 1) / reserveStep * reserveStep
	err := a.reserve(want)
	switch {
	case err == nil:
		a.granted = want
	case errors.Is(err, ErrTooLarge):
		a.taken -= int64(bytes)
		return err
	default:
		a.err = fmt.Errorf("%w: %w", ErrNotReserved, err)
	}
	return a.err
}

// takeUpTo is take for memory that is used again: it asks for what goes beyond the most that was needed before.
func (a *allowance) takeUpTo(most *int, bytes int) error {
	if bytes <= *most {
		return nil
	}
	if err := a.take(bytes - *most); err != nil {
		return err
	}
	*most = bytes
	return nil
}

// grown returns s with capacity for n items more. It takes more than that, so that it has to seldom.
func grown[T any](a *allowance, s []T, n int) ([]T, error) {
	if cap(s)-len(s) >= n {
		return s, nil
	}
	size := max(2*cap(s), len(s)+n)
	if err := a.take(size * scratch.Bytes(new([1]T)[:])); err != nil {
		return s, err
	}
	grown := make([]T, len(s), size)
	copy(grown, s)
	return grown, nil
}

// tablesMemory returns how much the tables of a message and its profiles take here.
func tablesMemory(pd pprofile.Profiles) int {
	source := pd.Dictionary()
	entries := source.FunctionTable().Len() + source.MappingTable().Len() + source.LocationTable().Len() + source.StackTable().Len()
	return stringMemory*source.StringTable().Len() + attributeMemory*source.AttributeTable().Len() +
		linkMemory*source.LinkTable().Len() + entryMemory*entries + profileMemory*pd.ProfileCount()
}

// kept is the memory that the encoding takes up, whether it is in use or not.
func (t *encoding) kept() int {
	j, l, s := &t.joining, &t.locals, &t.source
	bytes := int(t.dict.Kept()+t.importer.Kept()+t.sets.Kept()+j.rows.Kept()) +
		scratch.Bytes(t.groups) + scratch.Bytes(t.faults) + profileMemory/2*t.mostProfiles +
		cap(t.out) + cap(t.tail) + scratch.Bytes(t.wireLines) +
		cap(j.packed) + scratch.Bytes(j.values) + scratch.Bytes(j.stacks.list) + scratch.Bytes(j.attributes) + scratch.Bytes(j.event) +
		cap(t.labels.encoded) + cap(t.labels.sample) + scratch.Bytes(t.labels.ranges.list) + scratch.Bytes(t.labels.links)
	for _, n := range []*numbering{&l.strings, &l.functions, &l.locations, &l.mappings} {
		bytes += scratch.Bytes(n.numbers) + scratch.Bytes(n.list)
	}
	for _, c := range []*checks{&s.locationChecks, &s.functionChecks, &s.mappingChecks} {
		bytes += cap(c.good) + entryMemory*len(c.bad)
	}
	return bytes
}
