// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// joining joins the samples of a group's profiles by identity. Row i has one value for each profile of the group.
type joining struct {
	rows   dictionary.SampleTable
	width  int
	values []int64
	// order maps the sample types of the pprof to the profiles of the group.
	order []int
	// rowOrder is the order of the rows in the pprof.
	rowOrder rowOrder
	// packed has the encoded location ids of the stacks that have numbers. stacks has their ranges, after that of stack 0, which
	// is empty.
	packed       []byte
	stackNumbers numbering
	stacks       []packedStack
	// size is the most bytes that the samples need in the pprof, without their values.
	size int
	// rowBytes is the memory of the rows so far.
	rowBytes                       int
	rowsLargest, attributesLargest int
	// lostTimestamps counts the timestamps whose values are summed.
	lostTimestamps int

	attributes []int32
	event      []int32
}

// joinGroup joins the samples of a group. It removes the profiles that cannot be encoded from the group, and returns
// their errors.
func (t *encoding) joinGroup(g *group) (faults []error) {
	err := t.tryJoin(g)
	if err == nil {
		return nil
	}
	if len(g.profiles) == 1 {
		return t.refuseGroup(g, err)
	}
	// At least one profile is invalid. Try each alone to find all of them, and join the others again.
	all := g.profiles
	g.profiles = nil
	var good []groupedProfile
	for i := range all {
		g.profiles = all[i : i+1]
		if err := t.tryJoin(g); err != nil {
			faults = append(faults, t.fault(&all[i], err))
		} else {
			good = append(good, all[i])
		}
	}
	g.profiles = good
	if len(good) == 0 {
		return faults
	}
	// Each profile is valid on its own. If there is an error, they are too large together.
	if len(good) < len(all) {
		err = t.tryJoin(g)
	}
	if err != nil {
		faults = append(faults, t.refuseGroup(g, err)...)
	}
	return faults
}

// tryJoin joins the samples of a group.
func (t *encoding) tryJoin(g *group) error {
	if err := t.checkWaste(); err != nil {
		return err
	}
	err := t.join(g)
	if err != nil {
		t.waste(t.work())
	}
	return err
}

func (t *encoding) join(g *group) error {
	j := &t.joining
	j.values, j.packed, t.tail, t.labels.encoded = j.values[:0], j.packed[:0], t.tail[:0], t.labels.encoded[:0] // See work.
	t.locals.begin(t)
	t.checked = 0
	most := 0
	for i := range g.profiles {
		most = max(most, g.profiles[i].source.Samples().Len())
	}
	j.rowBytes = rowMemory / 4 * most // the index
	if err := t.memory.growTo(&j.rowsLargest, j.rowBytes); err != nil {
		return err
	}
	j.rows.Reset(most)
	j.width = len(g.profiles)
	j.stackNumbers.begin(t.importer.source.StackTable().Len())
	j.stacks = append(j.stacks[:0], packedStack{})
	j.lostTimestamps, j.size = 0, 0
	// Labels of the last pprof are not used again: their strings had other numbers.
	t.labels.items, t.labels.lostUnits, t.labels.ranges = 0, 0, t.labels.ranges[:0]
	t.labels.numbers.begin(t.dict.NumAttributes())
	j.order = sampleTypeOrder(t.scope.order, len(g.profiles))
	for _, position := range j.order {
		t.valueType(g.profiles[position].sampleType) // they are the first strings
	}
	j.rowOrder.begin()
	for _, column := range longestFirst(g.profiles) {
		samples := g.profiles[column].source.Samples()
		for i := range samples.Len() {
			if err := t.joinSample(samples.At(i), column); err != nil {
				return fmt.Errorf("sample %d: %w", i, err)
			}
		}
		j.rowOrder.ends = append(j.rowOrder.ends, len(j.rowOrder.rows)) // The next profile begins.
	}
	return t.mergeRows()
}

// joinSample adds a sample to its row. By OTLP's rules, a timestamp without a value counts 1, whatever the period is.
func (t *encoding) joinSample(sample pprofile.Sample, column int) (err error) {
	j := &t.joining
	values, timestamps := sample.Values(), sample.TimestampsUnixNano().Len()
	if timestamps > 0 && values.Len() > 0 && values.Len() != timestamps {
		return fmt.Errorf("%d values and %d timestamps, there must be equally many", values.Len(), timestamps)
	}
	id := dictionary.SampleIdentity{Stack: sample.StackIndex()}
	if link := sample.LinkIndex(); link != 0 {
		if id.Link, err = t.importer.link(link); err != nil {
			return err
		}
	}
	j.attributes = j.attributes[:0]
	if attributes := sample.AttributeIndices(); attributes.Len() > 0 {
		if j.attributes, err = t.importer.appendAttributes(j.attributes, attributes); err != nil {
			return err
		}
	}
	if timestamps > 0 {
		if t.opts.TimestampLabels {
			return t.joinEvents(sample, id, column)
		}
		j.lostTimestamps += timestamps
	}
	total := int64(0)
	for i := range values.Len() {
		total += values.At(i)
	}
	if values.Len() == 0 {
		total = int64(timestamps)
	}
	_, err = t.addToRow(id, j.attributes, column, total)
	return err
}

// joinEvents adds each event of a sample as a sample with its time as a label.
func (t *encoding) joinEvents(sample pprofile.Sample, id dictionary.SampleIdentity, column int) error {
	j := &t.joining
	values := sample.Values()
	attributes := t.dict.NumAttributes() + sample.TimestampsUnixNano().Len()
	if err := t.memory.growTo(&j.attributesLargest, attributeMemory*attributes); err != nil {
		return err
	}
	var rows map[uint64]int
	if len(j.attributes) > longList { // Events of one time can be many, too.
		rows = map[uint64]int{}
	}
	for i, at := range sample.TimestampsUnixNano().All() {
		value := int64(1)
		if values.Len() > 0 {
			value = values.At(i)
		}
		row, known := rows[at]
		if known {
			if err := t.addValue(row, id.Stack, column, value, false); err != nil {
				return err
			}
			continue
		}
		label := t.dict.IntAttribute(t.dict.String(timestampLabel), t.dict.String(timestampUnit), nanos(at))
		j.event = dictionary.SortSet(append(append(j.event[:0], j.attributes...), label), 0)
		row, err := t.addToRow(id, j.event, column, value)
		if err != nil {
			return err
		}
		if rows != nil {
			rows[at] = row
		}
	}
	return nil
}

const (
	timestampLabel = "timestamp"
	timestampUnit  = "nanoseconds"
)

// addToRow adds a value to the row of a sample, and returns the row.
func (t *encoding) addToRow(id dictionary.SampleIdentity, attributes []int32, column int, value int64) (row int, err error) {
	j, added := &t.joining, false
	number := j.stackNumbers.find(id.Stack)
	// Usually each sample has a stack of its own: only the other rows need an index.
	switch stack := j.stacks[number]; {
	case number > 0 && j.rows.Equals(int(stack.row), id, attributes):
		row = int(stack.row)
	case number > 0 || id.Stack <= 0:
		row, added = j.rows.Index(id, attributes)
	default:
		row, added = j.rows.Append(id, attributes), true
	}
	if added {
		if err := t.beginRow(row, id, attributes); err != nil {
			return 0, err
		}
	}
	return row, t.addValue(row, id.Stack, column, value, added)
}

func (t *encoding) addValue(row int, stack int32, column int, value int64, added bool) error {
	j := &t.joining
	j.values[row*j.width+column] += value
	if j.width == 1 {
		return nil
	}
	return j.rowOrder.add(&t.memory, row, stack, added)
}
