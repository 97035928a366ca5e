// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// writeGroup writes a group whose samples were joined as one pprof.
func (t *encoding) writeGroup(g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope) (Payload, error) {
	first := g.profiles[0].source
	payload := Payload{
		Resource:     resource,
		Scope:        scope,
		ProfileType:  t.profileType(g),
		ProfileID:    first.ProfileID(),
		Time:         first.Time(),
		DurationNano: first.DurationNano(),
		Profiles:     len(g.profiles),
		Positions:    make([]int, 0, len(g.profiles)),
	}
	for _, p := range g.profiles {
		payload.Positions = append(payload.Positions, p.position)
		payload.OTLPSamples += p.source.Samples().Len()
	}
	payload.Samples = t.joining.rows.Len()
	if original, ok := t.original(g); ok {
		payload.Pprof = original
		return payload, nil
	}
	payload.Lost.Timestamps = t.joining.lostTimestamps
	order := sampleTypeOrder(scope, len(g.profiles))
	t.out = t.out[:0]
	t.writeSampleTypes(g, order)
	if err := t.writeSamples(order); err != nil {
		return Payload{}, err
	}
	payload.Lost.Attributes = t.writeEntries()
	t.writeHeader(g, resource, scope)
	for _, s := range t.locals.stringList() {
		t.out = pprofwire.AppendString(t.out, t.dict.StringAt(s))
	}
	payload.Pprof = t.out
	return payload, nil
}

// writeSampleTypes writes the sample types in pprof's order. A lone type without a name that has no sample stands for a
// pprof that had none.
func (t *encoding) writeSampleTypes(g *group, order []int) {
	if len(order) == 1 && t.joining.rows.Len() == 0 && g.profiles[0].sampleType == (typeIndices{}) {
		return
	}
	for _, position := range order {
		t.out = pprofwire.AppendSampleType(t.out, t.valueType(g.profiles[position].sampleType))
	}
}

// writeSamples writes the joined samples with their values in pprof's order.
func (t *encoding) writeSamples(order []int) error {
	j := &t.joining
	t.labels.beginPayload(t.dict.Len().Attributes)
	inOrder := make([]int64, len(order))
	for row := range j.rows.Len() {
		id, attributes := j.rows.At(row)
		values := j.values[row*j.width : (row+1)*j.width]
		for i, position := range order {
			inOrder[i] = values[position]
		}
		t.out = pprofwire.AppendSample(t.out, j.packedAt(row), inOrder, t.labels.write(id.Link, attributes))
		if len(t.out) > t.opts.PprofBytes {
			return tooLarge("bytes of the pprof", len(t.out), t.opts.PprofBytes)
		}
	}
	return nil
}

// profileType is the name that a client gave the profile, else the default sample type: OTLP's first.
func (t *encoding) profileType(g *group) string {
	for _, a := range t.sets.At(g.key.attributes) {
		attribute := t.dict.AttributeAt(a)
		if t.dict.StringAt(attribute.Key) == profileName && attribute.Kind == pcommon.ValueTypeStr {
			return attribute.Text
		}
	}
	return t.dict.StringAt(g.profiles[0].sampleType.name)
}

// original returns the payload that the group was made of, where it is wanted and at hand.
func (t *encoding) original(g *group) ([]byte, bool) {
	if !t.opts.PreferOriginalPayload {
		return nil, false
	}
	for _, p := range g.profiles {
		if p.source.OriginalPayloadFormat() != originalPayloadFormat {
			continue
		}
		var err error
		t.out, err = inflate.Append(t.out[:0], p.source.OriginalPayload().AsRaw(), DefaultLimits().InflatedBytes)
		if err == nil && isPprof(t.out) {
			return t.out, true
		}
	}
	return nil, false
}

// isPprof tells whether a payload is one in truth, not by its name only.
func isPprof(raw []byte) bool {
	var wire pprofwire.Profile
	return wire.Read(raw, DefaultLimits().wire()) == nil
}

// sampleTypeOrder returns for each pprof sample type the profile of the group that holds it: as the scope tells, if that
// fits the group, else the first OTLP profile goes last, where pprof has its default.
func sampleTypeOrder(scope pcommon.InstrumentationScope, n int) []int {
	order, fits := originalOrder(scope, n)
	for i := range order {
		if !fits {
			order[i] = (i + 1) % n
		}
	}
	return order
}

// originalOrder returns the order of the sample types of the pprof that n profiles were made of, if the scope tells it.
func originalOrder(scope pcommon.InstrumentationScope, n int) (order []int, fits bool) {
	order = make([]int, n)
	attribute, found := scope.Attributes().Get(scopeSampleTypeOrder)
	return order, found && fillOrder(order, attribute)
}

// fillOrder inverts the original positions of the profiles; it reports false when they are no permutation.
func fillOrder(order []int, originals pcommon.Value) bool {
	if originals.Type() != pcommon.ValueTypeSlice || originals.Slice().Len() != len(order) {
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
