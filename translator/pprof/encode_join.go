// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// joining brings the samples of a group's profiles together by their identity. Row i has one value per profile of the
// group and the packed ids of its locations.
type joining struct {
	rows      dictionary.SampleTable
	width     int
	values    []int64
	packed    []byte
	packedEnd []int
	// lostTimestamps counts the timestamps that are summed away.
	lostTimestamps int

	attributes []int32
	event      []int32
}

// packedAt returns the packed location ids of row i.
func (j *joining) packedAt(i int) []byte {
	start := 0
	if i > 0 {
		start = j.packedEnd[i-1]
	}
	return j.packed[start:j.packedEnd[i]]
}

// joinGroup joins the samples of a group. Profiles that cannot be written are taken out of the group and returned as
// faults.
func (t *encoding) joinGroup(g *group) (faults []ProfileError) {
	if t.tryJoin(g) == nil {
		return nil
	}
	// One profile at least is broken. Find all that are, each tried alone, and join the others anew.
	all := g.profiles
	g.profiles = nil
	var good []groupedProfile
	for i := range all {
		g.profiles = all[i : i+1]
		if err := t.tryJoin(g); err != nil {
			faults = append(faults, ProfileError{Profile: all[i].position, ProfileID: all[i].source.ProfileID(), Err: err})
		} else {
			good = append(good, all[i])
		}
	}
	g.profiles = good
	if len(good) == 0 {
		return faults
	}
	if err := t.tryJoin(g); err != nil { // each was joined before, so it is together that they are too large
		faults = append(faults, g.faults(err)...)
		g.profiles = nil
	}
	return faults
}

func (t *encoding) tryJoin(g *group) error {
	j := &t.joining
	most := 0
	for i := range g.profiles {
		most = max(most, g.profiles[i].source.Samples().Len())
	}
	j.rows.Reset(most)
	j.width = len(g.profiles)
	j.values, j.packed, j.packedEnd = j.values[:0], j.packed[:0], j.packedEnd[:0]
	j.lostTimestamps = 0
	t.locals.begin(t)
	for column := range g.profiles {
		if err := t.joinProfile(g, column); err != nil {
			return err
		}
	}
	return nil
}

func (t *encoding) joinProfile(g *group, column int) error {
	p := &g.profiles[column]
	perEvent := int64(1)
	if p.sampleType == g.key.periodType && p.sampleType != (typeIndices{}) && g.key.period > 0 {
		perEvent = g.key.period
	}
	samples := p.source.Samples()
	for i := range samples.Len() {
		if err := t.joinSample(samples.At(i), column, perEvent); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

// joinSample adds a sample to its row. perEvent is what a timestamp without a value counts.
func (t *encoding) joinSample(sample pprofile.Sample, column int, perEvent int64) (err error) {
	j := &t.joining
	values, timestamps := sample.Values(), sample.TimestampsUnixNano().Len()
	if timestamps > 0 && values.Len() > 0 && values.Len() != timestamps {
		return fmt.Errorf("%d values and %d timestamps, there must be equally many", values.Len(), timestamps)
	}
	id := dictionary.SampleIdentity{Stack: sample.StackIndex()}
	if id.Link, err = t.importer.Link(sample.LinkIndex()); err != nil {
		return err
	}
	j.attributes = j.attributes[:0]
	if attributes := sample.AttributeIndices(); attributes.Len() > 0 {
		if j.attributes, err = t.importer.AppendAttributes(j.attributes, attributes); err != nil {
			return err
		}
	}
	if timestamps > 0 {
		if t.opts.TimestampLabels {
			return t.joinEvents(sample, id, column, perEvent)
		}
		j.lostTimestamps += timestamps
	}
	total := int64(0)
	for i := range values.Len() {
		total += values.At(i)
	}
	if values.Len() == 0 {
		total = perEvent * int64(timestamps)
	}
	return t.addToRow(id, j.attributes, column, total)
}

// joinEvents adds each event of a sample as a sample of its own, with its time as a label.
func (t *encoding) joinEvents(sample pprofile.Sample, id dictionary.SampleIdentity, column int, perEvent int64) error {
	j := &t.joining
	values := sample.Values()
	for i, at := range sample.TimestampsUnixNano().All() {
		label := t.dict.IntAttribute(t.dict.String(timestampLabel), t.dict.String(timestampUnit), nanos(at))
		j.event = dictionary.SortSet(append(append(j.event[:0], j.attributes...), label), 0)
		value := perEvent
		if values.Len() > 0 {
			value = values.At(i)
		}
		if err := t.addToRow(id, j.event, column, value); err != nil {
			return err
		}
	}
	return nil
}

const (
	timestampLabel = "timestamp"
	timestampUnit  = "nanoseconds"
)

func (t *encoding) addToRow(id dictionary.SampleIdentity, attributes []int32, column int, value int64) error {
	j := &t.joining
	row, added := j.rows.Index(id, attributes)
	if added {
		if err := t.packStack(id.Stack); err != nil {
			return err
		}
		if size := len(j.packed) + 8*(len(j.values)+j.width); size > t.opts.PprofBytes {
			return tooLarge("bytes of the pprof", size, t.opts.PprofBytes)
		}
		for range j.width {
			j.values = append(j.values, 0)
		}
	}
	j.values[row*j.width+column] += value
	return nil
}

// packStack checks a stack and all that it reaches, and packs the ids of its locations for a new row.
func (t *encoding) packStack(stack int32) error {
	j := &t.joining
	if stack != 0 {
		if stack < 0 || int(stack) >= t.source.stacks.Len() {
			return &dictionary.IndexError{Table: "stack", Index: stack, Len: t.source.stacks.Len()}
		}
		locations := t.source.stacks.At(int(stack)).LocationIndices()
		n := locations.Len()
		if size := len(j.packed) + n; size > t.opts.PprofBytes {
			return tooLarge("bytes of the pprof", size, t.opts.PprofBytes)
		}
		packed, numbers := slices.Grow(j.packed, pprofwire.MaxIDBytes*n), &t.locals.locations
		for i := range n {
			location := locations.At(i)
			id, known := numbers.find(location)
			if !known {
				if err := t.source.checkLocation(location); err != nil {
					return fmt.Errorf("stack %d: %w", stack, err)
				}
				id = numbers.local(location)
			}
			packed = pprofwire.AppendID(packed, id)
		}
		j.packed = packed
	}
	j.packedEnd = append(j.packedEnd, len(j.packed))
	return nil
}
