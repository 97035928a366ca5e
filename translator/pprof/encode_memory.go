// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// The memory of entries of a message while it is encoded, in bytes: their state, and the dictionary with its index. Sizes
// of slices are doubled, since they grow.
const (
	stringMemory    = 80
	attributeMemory = 352 // with its label and the label's text
	linkMemory      = 304 // with the texts of its labels
	entryMemory     = 32  // of any other table
	profileMemory   = 768 // with its group
	rowMemory       = 128 // without values
	indexMemory     = 12  // an attribute of a row
	itemMemory      = 160 // an item of an array that becomes labels
)

// encodeMemory counts the memory for encoding a message.
type encodeMemory struct{ meter.Meter }

// grow is [meter.Meter.Use]. With the error ErrTooLarge, the profiles that need the memory cannot be encoded;
// any other error ends the work on the message.
func (m *encodeMemory) grow(bytes int) error {
	err := m.Use(int64(bytes))
	switch {
	case err == nil || errors.Is(err, ErrNotReserved):
	case errors.Is(err, ErrTooLarge):
		m.Clear()
	default:
		err = fmt.Errorf("%w: %w", ErrNotReserved, err)
		m.Clear()
		m.Fail(err)
	}
	return err
}

// growTo makes sure that this size counts for memory that is used again and again: only its largest size does.
func (m *encodeMemory) growTo(largest *int, bytes int) error {
	if bytes <= *largest {
		return nil
	}
	if err := m.grow(bytes - *largest); err != nil {
		return err
	}
	*largest = bytes
	return nil
}

// growSlice returns s with capacity for at least n more items, if there is memory.
func growSlice[T any](m *encodeMemory, s []T, n int) ([]T, error) {
	if cap(s)-len(s) >= n {
		return s, nil
	}
	size := max(2*cap(s), len(s)+n)
	if err := m.grow(size * scratch.Bytes(new([1]T)[:])); err != nil {
		return s, err
	}
	grown := make([]T, len(s), size)
	copy(grown, s)
	return grown, nil
}

// tablesMemory returns the memory for the tables of a message and its profiles.
func tablesMemory(pd pprofile.Profiles) int {
	bytes := profileMemory * pd.ProfileCount()
	for table, length := range dictionary.LengthsOf(pd.Dictionary()) {
		switch dictionary.Table(table) {
		case dictionary.Strings:
			bytes += length * stringMemory
		case dictionary.Attributes:
			bytes += length * attributeMemory
		case dictionary.Links:
			bytes += length * linkMemory
		default:
			bytes += length * entryMemory
		}
	}
	return bytes
}

// kept returns the memory of the encoding, in use or not, in bytes.
func (t *encoding) kept() int {
	j, l := &t.joining, &t.locals
	bytes := int(t.dict.Kept()+t.sets.Kept()+j.rows.Kept()) + t.importer.kept() +
		scratch.Bytes(t.groups) + profileMemory/2*t.maxProfiles +
		cap(t.out) + cap(t.tail) + scratch.Bytes(t.wireLines) +
		j.rowOrder.kept() + cap(j.packed) + scratch.Bytes(j.values) + scratch.Bytes(j.stacks) + scratch.Bytes(j.attributes) + scratch.Bytes(j.event) +
		cap(t.labels.encoded) + cap(t.labels.sample) + scratch.Bytes(t.labels.ranges)
	for _, n := range []*numbering{&l.strings, &l.functions, &l.locations, &l.mappings, &j.stackNumbers, &t.labels.numbers} {
		bytes += n.kept()
	}
	return bytes
}
