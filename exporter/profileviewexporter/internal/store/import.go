// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// ErrInvalid is the error for a pprof that refers to an entry that it does not have, or whose samples do not have a value for each type.
var ErrInvalid = errors.New("the pprof is invalid")

// add adds the samples of a pprof and all symbols that they refer to. work counts the memory that it needs beside
// the table as it was. After an error, the caller must undo what was added.
func (t *Table) add(p *pprofwire.Profile, work *meter.Meter) (Samples, error) {
	const idBytes = 24 // if they count up, with all smaller lists before
	ids := len(p.Functions) + len(p.Mappings) + len(p.Locations)
	types := len(p.SampleTypes)
	if err := work.Use(4*int64(p.NumStrings()) + idBytes*int64(ids) + sampleBytes(types)*int64(len(p.Samples))); err != nil {
		return Samples{}, err
	}
	i := importer{table: t, pprof: p, work: work, strings: make([]uint32, p.NumStrings())}
	if err := i.addSymbols(); err != nil {
		return Samples{}, err
	}
	keys := make([]sampleKey, len(p.Samples))
	previous := pprofwire.Sample{}
	for n, s := range p.Samples {
		locations, labels := p.LocationIDs[previous.LocationsEnd:s.LocationsEnd], p.Labels[previous.LabelsEnd:s.LabelsEnd]
		if values := s.ValuesEnd - previous.ValuesEnd; int(values) != types {
			return Samples{}, fmt.Errorf("%w: sample %d has %d values, there are %d sample types", ErrInvalid, n, values, types)
		}
		previous = s
		stack, err := i.stack(n, locations)
		if err != nil {
			return Samples{}, err
		}
		keys[n] = sampleKey{stack, i.labels(labels), n}
		if err := work.Err(); err != nil {
			return Samples{}, err
		}
	}
	return newSamples(keys, p.Values, types), nil
}

// importer has the indices of the entries of a pprof in the table.
type importer struct {
	table *Table
	pprof *pprofwire.Profile
	work  *meter.Meter
	// strings are indices plus 1, 0 for texts that were not needed yet.
	strings                        []uint32
	functions, mappings, locations rows
}

// rows has the row of each entry of a pprof by its ID. IDs of the encoder count up from 1. Only others need a map.
type rows struct {
	counted []uint32
	others  map[uint64]uint32
}

// otherBytes is the most memory of an ID in a map that grows.
const otherBytes = 96

// set sets the row of an ID. work counts the memory of those that do not count up. The caller looks at its error.
func (r *rows) set(id uint64, row uint32, work *meter.Meter) {
	switch n := uint64(len(r.counted)); {
	case id-1 < n:
		r.counted[id-1] = row
	case id-1 == n:
		r.counted = append(r.counted, row)
	case work.Use(otherBytes) == nil:
		if r.others == nil {
			r.others = map[uint64]uint32{}
		}
		r.others[id] = row
	}
}

// row returns the row of an ID, and whether it is known.
func (r *rows) row(id uint64) (row uint32, known bool) {
	if id-1 < uint64(len(r.counted)) {
		return r.counted[id-1], true
	}
	row, known = r.others[id]
	return row, known
}

func (i *importer) text(index uint32) uint32 {
	if i.strings[index] == 0 {
		text := i.pprof.String(index)
		if !utf8.Valid(text) { // It could not be part of an answer.
			if i.work.Use(dictionary.ValidFactor*int64(len(text))) != nil {
				return 0 // addSymbols and add look at the error.
			}
			text = dictionary.ValidText(text)
		}
		i.strings[index] = i.table.AddString(text, i.work) + 1
	}
	return i.strings[index] - 1
}

// addSymbols adds all functions, mappings and locations.
func (i *importer) addSymbols() error {
	p, t := i.pprof, i.table
	for _, f := range p.Functions {
		i.functions.set(f.ID, t.Functions.Add(Function{
			Name: i.text(f.Name), SystemName: i.text(f.SystemName), File: i.text(f.Filename), StartLine: f.StartLine,
		}, i.work), i.work)
	}
	for _, m := range p.Mappings {
		i.mappings.set(m.ID, t.Mappings.Add(Mapping{
			Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: i.text(m.Filename), BuildID: i.text(m.BuildID),
			Has: Has{Functions: m.HasFunctions, Files: m.HasFilenames, LineNumbers: m.HasLineNumbers, InlineFrames: m.HasInlineFrames},
		}, i.work), i.work)
	}
	for n, l := range p.Locations {
		lines := p.LinesAt(n)
		next := uint32(0)
		for _, line := range slices.Backward(lines) {
			function, known := i.functions.row(line.FunctionID)
			if !known && line.FunctionID != 0 {
				return cmp.Or(i.work.Err(), fmt.Errorf("%w: function %d does not exist", ErrInvalid, line.FunctionID))
			}
			next = t.Lines.Add(Line{Function: function, Next: next, Line: line.Line, Column: line.Column}, i.work)
		}
		mapping, known := i.mappings.row(l.MappingID)
		if !known && l.MappingID != 0 {
			return cmp.Or(i.work.Err(), fmt.Errorf("%w: mapping %d does not exist", ErrInvalid, l.MappingID))
		}
		i.locations.set(l.ID, t.Locations.Add(Location{Mapping: mapping, Lines: next, Address: l.Address, IsFolded: l.IsFolded}, i.work), i.work)
	}
	return i.work.Err()
}

// stack returns the stack of a sample. The first location of a sample is the innermost call.
func (i *importer) stack(sample int, locations []uint64) (stack uint32, err error) {
	for _, id := range slices.Backward(locations) {
		location, known := i.locations.row(id)
		if !known {
			return 0, cmp.Or(i.work.Err(), fmt.Errorf("%w: location %d of sample %d does not exist", ErrInvalid, id, sample))
		}
		stack = i.table.Stacks.Add(Stack{Caller: stack, Location: location}, i.work)
	}
	return stack, nil
}

// labels returns the first label of a sample.
func (i *importer) labels(labels []pprofwire.Label) (first uint32) {
	for _, l := range slices.Backward(labels) {
		first = i.table.Labels.Add(Label{Key: i.text(l.Key), Text: i.text(l.Str), Unit: i.text(l.NumUnit), Number: l.Num, Next: first}, i.work)
	}
	return first
}
