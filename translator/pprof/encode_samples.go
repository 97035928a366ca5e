// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// joinSamples brings the samples of the group's profiles together by their identity, in t.joined, with one value per
// profile, in t.values: column i is profile order[i]. It returns the number of timestamps that are lost.
func (t *encoding) joinSamples(g *group, order []int) (lost int) {
	most := 0
	for _, p := range g.profiles {
		most = max(most, p.samples.end-p.samples.start)
	}
	t.joined.Reset(most)
	t.values = t.values[:0]
	columns := make([]int, len(order))
	for column, position := range order {
		columns[position] = column
	}
	for position := range g.profiles {
		lost += t.joinProfile(g, &g.profiles[position], columns[position])
	}
	return lost
}

func (t *encoding) joinProfile(g *group, p *groupedProfile, column int) (lost int) {
	perEvent := int64(1)
	if p.sampleType == g.key.periodType && p.sampleType != (typeIndices{}) && g.key.period > 0 {
		perEvent = g.key.period
	}
	width := len(g.profiles)
	sources := p.source.Samples()
	start := p.attributesStart
	for i := range sources.Len() {
		source, sample := sources.At(i), t.samples[p.samples.start+i]
		attributes := t.attributes[start:sample.attributesEnd]
		start = sample.attributesEnd
		if t.opts.TimestampLabels && source.TimestampsUnixNano().Len() > 0 {
			t.joinEvents(source, sample.id, attributes, width, column, perEvent)
			continue
		}
		lost += source.TimestampsUnixNano().Len()
		t.add(sample.id, attributes, width, column, total(source, perEvent))
	}
	return lost
}

// joinEvents adds each event of a sample as a sample of its own.
func (t *encoding) joinEvents(
	source pprofile.Sample, id dictionary.SampleIdentity, attributes []int32, width, column int, perEvent int64,
) {
	values := source.Values()
	for i, at := range source.TimestampsUnixNano().All() {
		label := t.dict.IntAttribute(t.dict.String(timestampLabel), t.dict.String(timestampUnit), nanos(at))
		t.event = append(append(t.event[:0], attributes...), label)
		slices.Sort(t.event)
		value := perEvent
		if values.Len() > 0 {
			value = values.At(i)
		}
		t.add(id, t.event, width, column, value)
	}
}

const (
	timestampLabel = "timestamp"
	timestampUnit  = "nanoseconds"
)

func (t *encoding) add(id dictionary.SampleIdentity, attributes []int32, width, column int, value int64) {
	row, added := t.joined.Index(id, attributes)
	if added {
		for range width {
			t.values = append(t.values, 0)
		}
	}
	t.values[row*width+column] += value
}

// total sums what a sample stands for: its values, or its events where it has no values.
func total(sample pprofile.Sample, perEvent int64) int64 {
	values := sample.Values()
	if values.Len() == 0 {
		return perEvent * int64(sample.TimestampsUnixNano().Len())
	}
	sum := int64(0)
	for i := range values.Len() {
		sum += values.At(i)
	}
	return sum
}

// writeSamples writes the joined samples, width values each.
func (t *encoding) writeSamples(width int) {
	t.labels.beginPayload(t.dict.Len().Attributes)
	for row := range t.joined.Len() {
		id, attributes := t.joined.At(row)
		t.frames = t.frames[:0]
		if id.Stack != 0 {
			locations := t.source.stacks.At(int(id.Stack)).LocationIndices()
			t.frames = t.locals.locations.appendLocals(t.frames, locations)
		}
		labels := t.labels.write(id.Link, attributes)
		t.out = pprofwire.AppendSample(t.out, t.frames, t.values[row*width:(row+1)*width], labels)
	}
}
