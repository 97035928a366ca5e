// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// writeGroup writes a group whose samples were joined as one pprof.
func (t *encoding) writeGroup(g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope) Payload {
	first := g.profiles[0].source
	payload := Payload{
		Resource:     resource,
		Scope:        scope,
		ProfileType:  t.profileType(g),
		ProfileID:    first.ProfileID(),
		Time:         first.Time(),
		DurationNano: first.DurationNano(),
		Profiles:     len(g.profiles),
	}
	for _, p := range g.profiles {
		payload.OTLPSamples += p.source.Samples().Len()
	}
	payload.Samples = t.joining.rows.Len()
	if original, ok := t.original(g); ok {
		payload.Pprof = original
		return payload
	}
	payload.Lost.Timestamps = t.joining.lostTimestamps
	order := sampleTypeOrder(scope, len(g.profiles))
	t.out = t.out[:0]
	t.writeSampleTypes(g, order)
	t.writeSamples(order)
	payload.Lost.Attributes = t.writeEntries()
	t.writeHeader(g, resource, scope)
	for _, s := range t.locals.stringList() {
		t.out = pprofwire.AppendString(t.out, t.dict.StringAt(s))
	}
	payload.Pprof = t.out
	return payload
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
func (t *encoding) writeSamples(order []int) {
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
	}
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
		return t.out, err == nil && len(t.out) > 0
	}
	return nil, false
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

// writeHeader writes all that is not a table. Only what the group says counts, never another profile's.
func (t *encoding) writeHeader(g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope) {
	if g.key.periodType != (typeIndices{}) {
		t.out = pprofwire.AppendPeriodType(t.out, t.valueType(g.key.periodType))
	}
	h := pprofwire.Header{
		TimeNanos:     nanos(g.key.time),
		DurationNanos: nanos(g.key.duration),
		Period:        g.key.period,
	}
	if name, found := scope.Attributes().Get(scopeDefaultSampleType); found {
		h.DefaultSampleType = t.localText(name.AsString())
	}
	for _, p := range g.profiles {
		if h.Comments = t.comments(p.comments); len(h.Comments) > 0 {
			break
		}
	}
	for _, a := range t.sets.At(g.key.attributes) {
		attribute := t.dict.AttributeAt(a)
		text := t.localText
		switch key := t.dict.StringAt(attribute.Key); key {
		case profileDropFrames:
			h.DropFrames = text(attribute.AsString())
		case profileKeepFrames:
			h.KeepFrames = text(attribute.AsString())
		case profileDocURL:
			h.DocURL = text(attribute.AsString())
		case profileName:
			// The destination shows it.
		default:
			h.Comments = append(h.Comments, text(key+"="+attribute.AsString()))
		}
	}
	if t.opts.ResourceComments {
		for _, comment := range resourceComments(resource.Attributes()) {
			h.Comments = append(h.Comments, t.localText(comment))
		}
	}
	t.out = pprofwire.AppendHeader(t.out, h)
}

func (t *encoding) localText(s string) uint32 { return t.locals.string(t.dict.String(s)) }

// isComment tells whether an attribute is a comment: in today's form or, with a number behind it, in the older one.
func isComment(key string) bool {
	rest, found := strings.CutPrefix(key, profileComment)
	return found && (rest == "" || rest[0] == '.')
}

// comments returns the comments of a profile in their order: those of the older form have it in their keys.
func (t *encoding) comments(set int32) []uint32 {
	attributes := slices.Clone(t.sets.At(set))
	slices.SortStableFunc(attributes, func(a, b int32) int {
		return cmp.Compare(t.commentNumber(a), t.commentNumber(b))
	})
	var comments []uint32
	for _, a := range attributes {
		attribute := t.dict.AttributeAt(a)
		if attribute.Kind != pcommon.ValueTypeSlice {
			comments = append(comments, t.localText(attribute.AsString()))
			continue
		}
		for _, item := range attribute.Value.Slice().All() {
			comments = append(comments, t.localText(item.AsString()))
		}
	}
	return comments
}

// commentNumber returns the number behind the key of a comment, -1 where there is none.
func (t *encoding) commentNumber(a int32) int {
	rest := strings.TrimPrefix(t.dict.StringAt(t.dict.AttributeAt(a).Key), profileComment)
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "."))
	if err != nil {
		return -1
	}
	return n
}

// writeEntries writes the locations, functions and mappings that were reached and returns how many of their attributes
// pprof has no place for.
func (t *encoding) writeEntries() (lost int) {
	// Mappings first, though they are reached through locations: their ids follow their order in the table, since pprof
	// takes the first for the main binary.
	locations := t.locals.locations.list
	for _, l := range locations {
		if l != 0 {
			t.locals.markMapping(t.source.locations.At(int(l)).MappingIndex())
		}
	}
	for _, m := range t.locals.numberMappings() {
		lost += t.writeMapping(m)
	}
	for i, l := range locations {
		lost += t.writeLocation(l, uint64(i+1))
	}
	for i, f := range t.locals.functions.list {
		t.writeFunction(f, uint64(i+1))
	}
	return lost
}

// writeLocation writes a location; location 0 is one that says nothing.
func (t *encoding) writeLocation(l int32, id uint64) (lost int) {
	wire := pprofwire.Location{ID: id}
	t.wireLines = t.wireLines[:0]
	if l != 0 {
		location := t.source.locations.At(int(l))
		wire.Address, wire.MappingID = location.Address(), t.locals.mappingID(location.MappingIndex())
		wire.IsFolded, lost = t.isFolded(location.AttributeIndices())
		lines := location.Lines()
		for i := range lines.Len() {
			line := lines.At(i)
			t.wireLines = append(t.wireLines, pprofwire.Line{
				FunctionID: uint64(t.locals.functions.local(line.FunctionIndex())),
				Line:       line.Line(),
				Column:     line.Column(),
			})
		}
	}
	t.out = pprofwire.AppendLocation(t.out, wire, t.wireLines)
	return lost
}

func (t *encoding) isFolded(attributes pcommon.Int32Slice) (folded bool, lost int) {
	for _, i := range attributes.All() {
		attribute := t.attribute(i)
		if t.dict.StringAt(attribute.Key) == locationIsFolded && attribute.Kind == pcommon.ValueTypeBool {
			folded = attribute.Number != 0
		} else {
			lost++
		}
	}
	return folded, lost
}

// writeFunction writes a function; function 0 is one without a name.
func (t *encoding) writeFunction(f int32, id uint64) {
	wire := pprofwire.Function{ID: id}
	if f != 0 {
		function := t.source.functions.At(int(f))
		wire.Name = t.sourceString(function.NameStrindex())
		wire.SystemName = t.sourceString(function.SystemNameStrindex())
		wire.Filename = t.sourceString(function.FilenameStrindex())
		wire.StartLine = function.StartLine()
	}
	t.out = pprofwire.AppendFunction(t.out, wire)
}

func (t *encoding) writeMapping(m int32) (lost int) {
	mapping := t.source.mappings.At(int(m))
	wire := pprofwire.Mapping{
		ID:       t.locals.mappingID(m),
		Start:    mapping.MemoryStart(),
		Limit:    mapping.MemoryLimit(),
		Offset:   mapping.FileOffset(),
		Filename: t.sourceString(mapping.FilenameStrindex()),
	}
	for _, i := range mapping.AttributeIndices().All() {
		if !t.setMappingAttribute(&wire, t.attribute(i)) {
			lost++
		}
	}
	t.out = pprofwire.AppendMapping(t.out, wire)
	return lost
}

// sourceString returns the pprof's index of string i of the message, which was checked.
func (t *encoding) sourceString(i int32) uint32 {
	index, _ := t.importer.String(i)
	return t.locals.string(index)
}

// attribute returns attribute i of the message, which was checked.
func (t *encoding) attribute(i int32) dictionary.Attribute {
	index, _ := t.importer.Attribute(i)
	return t.dict.AttributeAt(index)
}

// setMappingAttribute sets the field that an attribute stands for, if there is one.
func (t *encoding) setMappingAttribute(m *pprofwire.Mapping, a dictionary.Attribute) bool {
	key := t.dict.StringAt(a.Key)
	if key == mappingBuildID && a.Kind == pcommon.ValueTypeStr {
		m.BuildID = t.localText(a.Text)
		return true
	}
	if a.Kind != pcommon.ValueTypeBool {
		return false
	}
	switch key {
	case mappingHasFunctions:
		m.HasFunctions = a.Number != 0
	case mappingHasFilenames:
		m.HasFilenames = a.Number != 0
	case mappingHasLineNumbers:
		m.HasLineNumbers = a.Number != 0
	case mappingHasInlineFrames:
		m.HasInlineFrames = a.Number != 0
	default:
		return false
	}
	return true
}
