// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// writeGroup writes a group, whose samples were joined, as one pprof.
func (t *encoding) writeGroup(g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope) (Payload, error) {
	first := g.profiles[0].source
	payload := Payload{
		Resource:      resource,
		Scope:         scope,
		ProfileType:   t.profileType(g),
		ProfileID:     first.ProfileID(),
		Time:          first.Time(),
		DurationNano:  first.DurationNano(),
		ResourceIndex: t.resourceIndex,
		ScopeIndex:    t.scopeIndex,
		Positions:     make([]int, 0, len(g.profiles)),
		Profiles:      len(g.profiles),
	}
	for _, p := range g.profiles {
		payload.Positions = append(payload.Positions, p.position)
		payload.OTLPSamples += p.source.Samples().Len()
	}
	found, err := t.original(g, &payload)
	t.needed = len(t.out)
	if err == nil && !found {
		err = t.write(g, &payload)
	}
	if err != nil {
		return Payload{}, err
	}
	t.written += len(t.out)
	payload.Pprof = t.out
	return payload, nil
}

// write writes a group to t.out after checking its size, and describes the pprof in p.
func (t *encoding) write(g *group, p *Payload) error {
	lost, err := t.writeEntries(g)
	if err != nil {
		return err
	}
	if err := t.writeHeader(g, p.Resource); err != nil {
		return err
	}
	size := t.size()
	if err := t.fits(size); err != nil {
		return err
	}
	t.needed = size
	if cap(t.out) < size {
		if err := t.memory.growTo(&t.outLargest, size); err != nil {
			return err
		}
		t.out = make([]byte, 0, size)
	}
	t.out = t.out[:0]
	j := &t.joining
	p.Samples, p.Lost = j.rows.Len(), Losses{Attributes: lost + t.labels.lostUnits, Timestamps: j.lostTimestamps}
	order := j.order
	if len(order) == 1 && p.Samples == 0 && g.profiles[0].sampleType == (typeIndices{}) {
		order = nil // A single type without a name and without samples represents a pprof without sample types.
	}
	p.SampleTypes = make([]SampleType, 0, len(order)) // An original payload that was not used may have left some.
	for _, position := range order {
		v := g.profiles[position].sampleType
		p.SampleTypes = append(p.SampleTypes, SampleType{t.dict.StringAt(v.name), t.dict.StringAt(v.unit)})
		t.out = pprofwire.AppendSampleType(t.out, t.valueType(v))
	}
	t.writeSamples()
	t.out = append(t.out, t.tail...)
	t.out = pprofwire.AppendString(t.out, "")
	for _, s := range t.locals.strings.list {
		t.out = pprofwire.AppendString(t.out, t.dict.StringAt(s))
	}
	return nil
}

// size returns the most bytes that the group needs. t.tail must be complete. Only the strings of links have no numbers
// yet; joining.size includes them.
func (t *encoding) size() int {
	j, names := &t.joining, t.opts.LinkLabels
	size := j.size + maxTypeBytes*j.width + len(t.tail)
	for _, v := range j.values {
		size += protowire.SizeVarint(uint64(v))
	}
	strings := t.locals.strings.list
	size += maxStringBytes*(1+len(strings)+2) + len(names.Trace) + len(names.Span)
	for _, s := range strings {
		size += len(t.dict.StringAt(s))
	}
	return size
}

// maxStringBytes is the most bytes that a string needs without its text.
const maxStringBytes = 1 + 5

// writeSamples appends the joined samples with their values in pprof's order.
func (t *encoding) writeSamples() {
	j := &t.joining
	inOrder, out := make([]int64, j.width), t.out
	for sample := range j.rows.Len() {
		row := j.rowOrder.at(sample)
		id, attributes := j.rows.At(row)
		values := j.values[row*j.width : (row+1)*j.width]
		for i, position := range j.order {
			inOrder[i] = values[position]
		}
		stack := j.stacks[j.stackNumbers.find(id.Stack)]
		out = pprofwire.AppendSample(out, j.packed[stack.start:stack.end], inOrder, t.labels.write(id.Link, attributes))
	}
	t.out = out
}

// profileType returns the attribute profile.name, or the default sample type, which is OTLP's first.
func (t *encoding) profileType(g *group) string {
	for _, a := range t.sets.At(g.key.attributes) {
		attribute := t.dict.AttributeAt(a)
		if t.dict.StringAt(attribute.Key) == semconv.ProfileName && attribute.Kind == pcommon.ValueTypeStr {
			return attribute.Text
		}
	}
	return t.dict.StringAt(g.profiles[0].sampleType.name)
}

// original writes the original payload of the group to t.out, and describes it, if the option is set and the payload is a pprof.
func (t *encoding) original(g *group, described *Payload) (found bool, err error) {
	if !t.opts.PreferOriginalPayload || t.unused > t.opts.PprofBytes || !g.hasOnePayload() {
		return false, nil
	}
	payload := g.profiles[0].source.OriginalPayload()
	limit := min(DefaultLimits().InflatedBytes, t.opts.PprofBytes-t.written-t.trial)
	if err := t.memory.growTo(&t.outLargest, payload.Len()); err != nil {
		return false, err
	}
	largest := 0
	t.out, largest, err = inflate.Into(t.out, payload.AsRaw(), limit, &t.memory.Meter)
	if err == nil {
		err = t.memory.growTo(&t.outLargest, payload.Len()+cap(t.out))
	}
	if err == nil {
		found = described.describe(t.out, &t.memory.Meter)
	}
	if !found {
		t.unused += largest // Above the limit, profiles are encoded without looking at it.
	}
	if t.memory.Err() != nil {
		return false, t.memory.grow(0)
	}
	return found, nil
}

// hasOnePayload reports whether all profiles of a group have the same pprof as their payload. Captures without a time can be in one group,
// and the payload of one of them is not all of it.
func (g *group) hasOnePayload() bool {
	first := g.profiles[0].source.OriginalPayload()
	for _, p := range g.profiles {
		if p.source.OriginalPayloadFormat() != semconv.OriginalPayloadFormat || !p.source.OriginalPayload().Equal(first) {
			return false
		}
	}
	return first.Len() > 0
}

// describe sets the number and types of the samples of an original payload. It reports whether that is a pprof by its content.
func (p *Payload) describe(raw []byte, work *meter.Meter) (isPprof bool) {
	var wire pprofwire.Profile
	limits := DefaultLimits().wire()
	limits.Memory = work
	if wire.Read(raw, limits) != nil {
		return false
	}
	texts := map[uint32]string{} // Many types can share a long name or unit.
	text := func(i uint32) string {
		if _, known := texts[i]; !known && work.Use(int64(len(wire.String(i)))) == nil {
			texts[i] = string(wire.String(i))
		}
		return texts[i]
	}
	for _, t := range wire.SampleTypes {
		p.SampleTypes = append(p.SampleTypes, SampleType{text(t.Type), text(t.Unit)})
	}
	p.Samples = len(wire.Samples)
	return work.Err() == nil
}

// sampleTypeOrder maps each sample type of the pprof to a profile of the group. The attribute of the scope determines the
// order if it fits the group. Otherwise the first OTLP profile is last, where pprof has the default.
func sampleTypeOrder(originals pcommon.Value, n int) []int {
	order := make([]int, n)
	fits := fillOrder(order, originals)
	for i := range order {
		if !fits {
			order[i] = (i + 1) % n
		}
	}
	return order
}

// fillOrder inverts the original positions of the profiles. It returns false if they are not a permutation.
func fillOrder(order []int, originals pcommon.Value) bool {
	if originals == (pcommon.Value{}) || originals.Type() != pcommon.ValueTypeSlice || originals.Slice().Len() != len(order) {
		return false
	}
	filled := make([]bool, len(order))
	for position, original := range originals.Slice().All() {
		i := original.Int()
		if i < 0 || i >= int64(len(order)) || filled[i] {
			return false
		}
		order[i], filled[i] = position, true
	}
	return true
}

func (t *encoding) valueType(v typeIndices) pprofwire.ValueType {
	return pprofwire.ValueType{Type: t.locals.string(v.name), Unit: t.locals.string(v.unit)}
}
