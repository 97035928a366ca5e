// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"math/bits"
	"strconv"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// labelReader reads the labels of samples with some names, all in one walk.
type labelReader struct {
	*filter
	table *store.Table
	names []string
	// keys are the names that a key has, as bits by position, by the index of its text. values are those of a set of labels, by name.
	keys   []uint64
	values [][]string
	// results has a result of the filter for each set of labels, by the selectors that are undecided.
	results map[uint64][]result
}

// keyKnown is the bit of keys whose names are known. There are fewer names.
const keyKnown = 1 << 63

// reader returns a reader, or nil if there is no memory. The filter counts its work.
func (f *filter) reader(table *store.Table, names []string) *labelReader {
	if f.work.Use(8*int64(len(table.Strings.Rows))) != nil {
		return nil
	}
	return &labelReader{
		filter: f, table: table, names: names, keys: make([]uint64, len(table.Strings.Rows)), values: make([][]string, len(names)),
		results: map[uint64][]result{},
	}
}

// read returns the values of a set of labels, by name, and numbers as text. They are valid until the next call. After an error of the filter
// they are wrong.
func (r *labelReader) read(labels uint32) [][]string {
	for i := range r.values {
		r.values[i] = r.values[i][:0]
	}
	for r.steps <= maxWork && labels != 0 && r.work.Advance(1) == nil {
		r.steps++
		l := &r.table.Labels.Rows[labels]
		for names := r.namesOf(l.Key); names != 0; names &= names - 1 {
			i := bits.TrailingZeros64(names)
			r.values[i] = store.Append(r.values[i], r.value(l), r.work)
		}
		labels = l.Next
	}
	return r.values
}

// namesOf returns the names that a key has.
func (r *labelReader) namesOf(key uint32) uint64 {
	if r.keys[key] == 0 {
		r.keys[key] = keyKnown
		text := r.table.Text(key)
		name := series.Name(text)
		for i, one := range r.names {
			if one == text || one == name {
				r.keys[key] |= 1 << i
			}
		}
	}
	return r.keys[key] &^ keyKnown
}

func (r *labelReader) value(l *store.Label) string {
	if l.Text != 0 || l.Number == 0 {
		return r.table.Text(l.Text)
	}
	return strconv.FormatInt(l.Number, 10)
}
