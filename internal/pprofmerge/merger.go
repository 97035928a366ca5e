// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"fmt"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/references"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// Merger merges pprofs. Make it with [New]. Not safe for concurrent use.
type Merger struct {
	// Reserve is called, if it is set, before memory is taken, with the bytes of the sum and of the pprof that is being added, and
	// regularly in long work. Its error ends the work, and is returned.
	Reserve func(bytes int64) error
	// Only has the labels that samples must have. Samples without all of them are left out.
	Only []selector.Selector
	// CountLabels also sums the samples by their labels, see [Merger.Labels]. With CountOthers, a sample that has another value of one
	// label of Only counts under that value.
	CountLabels, CountOthers bool

	header header
	dict   *dictionary.Builder
	// mappings are those of the sum. Wherever a mapping, a function or a string may be absent, 0 says so, and all others
	// count from 1.
	mappings   []pprofwire.Mapping
	mappingKey map[mappingKey]int32
	// labels are lists of a label's parts, see label.
	labels dictionary.ListTable
	// labelSums are the sums of the samples with each label, where these are counted, and totals those of all samples that
	// were added, but not subtracted. See sumParts.
	labelSums, totals []int64
	counted           int64
	// rows are the samples; each has header.stride values.
	rows   dictionary.SampleTable
	values []int64
	// The sizes that no table has.
	stringBytes, lines, frames, labelsOfRows int
	// cut is the maximum length of a string that is written. 0 means no limit.
	cut int

	payload payload
}

// payload is what is known of the pprof that is being added.
type payload struct {
	wire pprofwire.Profile
	refs references.Resolver
	// What its entries became, plus one; 0 says nothing yet.
	strings, functions, mappings, locations []int32
	// columns has for each type of the sum the position of its values, -1 for values that are absent or do not count.
	columns []int
	// base is set for a pprof that is subtracted.
	base bool

	stack, labelList []int32
	lines            []dictionary.Line
	row              []int64
}

// New returns a Merger that has added nothing yet.
func New() *Merger {
	m := &Merger{dict: dictionary.New(), mappingKey: map[mappingKey]int32{}, header: newHeader()}
	m.labels.Reset(0)
	m.rows.Reset(0)
	return m
}

// limits allow all that fits into the bytes of a pprof. The caller limits these.
func limits() pprofwire.Limits {
	limits := pprofwire.NoLimits()
	limits.SampleTypes = maxSampleTypes
	return limits
}

// maxSampleTypes is more than any profiler has.
const maxSampleTypes = 256

// Check tells what is wrong with a pprof that Add could not take. reserve, if it is not nil, is asked before memory is taken,
// with the bytes that the check takes then.
func Check(pprof []byte, reserve func(bytes int64) error) error {
	return new(payload).read(pprof, reserve)
}

// Add adds a pprof that is not compressed; it is not needed any more after that. The values at the positions in silent
// count as 0, and so does what it has no type for. The error is pprofwire.ErrMalformed, or [ErrDiffers] where the pprof measures something
// else than those before it; see also Comparable; or [selector.ErrExpensive]. After an error the Merger is of no more use.
func (m *Merger) Add(pprof []byte, silent []int) error { return m.add(pprof, silent, false) }

// Subtract is Add for a pprof that the sum is compared with: its values count negative, and its samples have the label
// [BaseLabel], by which google/pprof knows what percentages are of.
func (m *Merger) Subtract(pprof []byte, silent []int) error { return m.add(pprof, silent, true) }

// BaseLabel is the key of the label of samples that were subtracted. Its text is true.
const BaseLabel = "pprof::base"

func (m *Merger) add(pprof []byte, silent []int, base bool) error {
	p := &m.payload
	p.base = base
	if err := p.read(pprof, func(bytes int64) error { return m.grow(sizes{}, bytes) }); err != nil {
		return err
	}
	more, extra := p.most(max(m.header.stride, len(p.wire.SampleTypes)), m.CountLabels), p.bytes()
	if err := m.grow(more, extra); err != nil {
		return err
	}
	if err := m.addHeader(silent, extra); err != nil {
		return err
	}
	if len(m.mappings) == 0 && len(p.wire.Mappings) > 0 {
		m.mapping(0) // The first one is the main binary, whoever is reached first.
	}
	var locations, values, labels uint32
	for i := range p.wire.Samples {
		if i%samplesPerStep == samplesPerStep-1 {
			if err := m.grow(sizes{}, extra); err != nil {
				return err
			}
		}
		s := &p.wire.Samples[i]
		m.addIfWanted(p.wire.LocationIDs[locations:s.LocationsEnd], p.wire.Values[values:s.ValuesEnd], p.wire.Labels[labels:s.LabelsEnd])
		if err := selector.Check(m.Only); err != nil {
			return err
		}
		locations, values, labels = s.LocationsEnd, s.ValuesEnd, s.LabelsEnd
	}
	return nil
}

// addIfWanted adds a sample that has the labels that are wanted, and values.
func (m *Merger) addIfWanted(locations []uint64, values []int64, labels []pprofwire.Label) {
	p := &m.payload
	last, missing := p.missing(labels, m.Only)
	counting := m.CountLabels && !p.base
	if missing > 0 && (!counting || !m.CountOthers || missing > 1) || !p.pick(values) {
		return
	}
	if missing == 1 {
		// It has another value of one label, and counts under that.
		m.countOthers(labels, m.Only[last].Key)
		return
	}
	m.addSample(locations, labels)
	if !p.base {
		m.countSample(counting)
	}
}

// Samples is the number of samples of the sum.
func (m *Merger) Samples() int { return m.rows.Len() }

// samplesPerStep is how many samples are worked on before Reserve is asked whether to go on.
const samplesPerStep = 4096

// read fills the tables of a pprof, and checks all that it refers to. reserve is asked for all memory of the payload.
func (p *payload) read(pprof []byte, reserve func(bytes int64) error) error {
	w := &p.wire
	limits := limits()
	if reserve != nil {
		kept := p.kept()
		limits.Reserve = func(bytes int64) error { return reserve(kept + bytes) }
	}
	if err := w.Read(pprof, limits); err != nil {
		return err
	}
	if reserve != nil {
		if err := reserve(p.bytes()); err != nil {
			return err
		}
	}
	if _, err := p.refs.Resolve(w); err != nil {
		return err
	}
	start := uint32(0)
	for i := range w.Samples {
		n := int(w.Samples[i].ValuesEnd - start)
		if n != 0 && n != len(w.SampleTypes) {
			return fmt.Errorf("%w: sample %d has %d values and there are %d sample types", pprofwire.ErrMalformed, i, n, len(w.SampleTypes))
		}
		start = w.Samples[i].ValuesEnd
	}
	p.strings = scratch.Zeroed(p.strings, w.NumStrings())
	p.functions = scratch.Zeroed(p.functions, len(w.Functions))
	p.mappings = scratch.Zeroed(p.mappings, len(w.Mappings))
	p.locations = scratch.Zeroed(p.locations, len(w.Locations))
	return nil
}

// pick fills row with the values of a sample, and tells whether there is one that is not 0.
func (p *payload) pick(values []int64) (some bool) {
	if len(values) == 0 {
		return false
	}
	for i, column := range p.columns {
		p.row[i] = 0
		if column >= 0 {
			p.row[i] = values[column]
			some = some || values[column] != 0
			if p.base {
				p.row[i] = -p.row[i]
			}
		}
	}
	return some
}

// addSample adds row to the sample of these positions of locations and labels.
func (m *Merger) addSample(positions []uint64, labels []pprofwire.Label) {
	p := &m.payload
	p.stack = p.stack[:0]
	for _, position := range positions {
		location := p.locations[position]
		if location == 0 {
			location = m.location(int(position)) + 1
			p.locations[position] = location
		}
		p.stack = append(p.stack, location-1)
	}
	p.labelList = p.labelList[:0]
	if len(labels) > 0 || p.base {
		m.listLabels(labels)
	}
	m.addRow(m.stack(p.stack), p.labelList, p.row)
}

// stack returns the stack of the sum with these locations.
func (m *Merger) stack(locations []int32) int32 {
	before := m.dict.Len().Stacks
	stack := m.dict.Stack(locations)
	if int(stack) == before {
		m.frames += len(locations)
	}
	return stack
}

// addRow adds values to the sample of a stack and labels.
func (m *Merger) addRow(stack int32, labels []int32, values []int64) {
	row, added := m.rows.Index(dictionary.SampleIdentity{Stack: stack}, labels)
	if added {
		m.values = append(m.values, values...)
		m.labelsOfRows += len(labels)
		return
	}
	sum := m.values[row*len(values):][:len(values)]
	for i, v := range values {
		sum[i] += v
	}
}
