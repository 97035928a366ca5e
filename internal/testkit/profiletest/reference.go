// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"math"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// ReferencePprof is the slow and obvious translation of one OTLP profile to a pprof, with the values of a sample
// summed: what the real one is held against. The message must keep the rules of the protocol. Links are left out.
//
// The result is what google/pprof reads from a file: a label that is the number 0 without unit is not among them.
func ReferencePprof(dict pprofile.ProfilesDictionary, scope pcommon.InstrumentationScope, p pprofile.Profile) *profile.Profile {
	r := &reference{dict: dict, profile: &profile.Profile{
		SampleType:    []*profile.ValueType{valueTypeOf(dict, p.SampleType())},
		PeriodType:    valueTypeOf(dict, p.PeriodType()),
		Period:        p.Period(),
		TimeNanos:     int64(min(uint64(p.Time()), math.MaxInt64)),
		DurationNanos: int64(min(p.DurationNano(), math.MaxInt64)),
	}}
	if name, ok := scope.Attributes().Get("pprof.scope.default_sample_type"); ok {
		r.profile.DefaultSampleType = name.AsString()
	}
	r.header(p)
	for _, m := range dict.MappingTable().All() {
		r.mappings = append(r.mappings, r.mapping(m))
	}
	for _, s := range p.Samples().All() {
		r.profile.Sample = append(r.profile.Sample, r.sample(s))
	}
	r.reachedMappings()
	return r.profile
}

// reference is one translation. mappings holds those of the dictionary, so that they keep their order.
type reference struct {
	dict     pprofile.ProfilesDictionary
	profile  *profile.Profile
	mappings []*profile.Mapping
}

func valueTypeOf(dict pprofile.ProfilesDictionary, v pprofile.ValueType) *profile.ValueType {
	return &profile.ValueType{Type: stringAt(dict, v.TypeStrindex()), Unit: stringAt(dict, v.UnitStrindex())}
}

// each calls visit for each attribute of the list. One without any content, as entry 0 is, says nothing.
func (r *reference) each(indices pcommon.Int32Slice, visit func(key, unit string, value pcommon.Value)) {
	for _, index := range indices.All() {
		kv := r.dict.AttributeTable().At(int(index))
		key, unit := stringAt(r.dict, kv.KeyStrindex()), stringAt(r.dict, kv.UnitStrindex())
		if key != "" || unit != "" || kv.Value().Type() != pcommon.ValueTypeEmpty {
			visit(key, unit, kv.Value())
		}
	}
}

func (r *reference) header(p pprofile.Profile) {
	var others []string
	r.each(p.AttributeIndices(), func(key, _ string, value pcommon.Value) {
		switch key {
		case "pprof.profile.drop_frames":
			r.profile.DropFrames = textOf(value)
		case "pprof.profile.keep_frames":
			r.profile.KeepFrames = textOf(value)
		case "pprof.profile.doc_url":
			r.profile.DocURL = textOf(value)
		case "profile.name":
		case "pprof.profile.comment":
			if value.Type() != pcommon.ValueTypeSlice {
				r.profile.Comments = append(r.profile.Comments, textOf(value))
				break
			}
			for _, comment := range value.Slice().All() {
				r.profile.Comments = append(r.profile.Comments, comment.AsString())
			}
		default:
			others = append(others, key+"="+textOf(value))
		}
	})
	r.profile.Comments = append(r.profile.Comments, others...)
}

func (r *reference) mapping(m pprofile.Mapping) *profile.Mapping {
	result := &profile.Mapping{
		ID: uint64(len(r.mappings) + 1), Start: m.MemoryStart(), Limit: m.MemoryLimit(), Offset: m.FileOffset(),
		File: stringAt(r.dict, m.FilenameStrindex()),
	}
	idKey := ""
	r.each(m.AttributeIndices(), func(key, _ string, value pcommon.Value) {
		switch key {
		case "process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash":
			if value.Str() != "" && (idKey == "" || key < idKey) { // The keys have the order that counts.
				result.BuildID, idKey = value.Str(), key
			}
		case "pprof.mapping.has_functions":
			result.HasFunctions = value.Bool()
		case "pprof.mapping.has_filenames":
			result.HasFilenames = value.Bool()
		case "pprof.mapping.has_line_numbers":
			result.HasLineNumbers = value.Bool()
		case "pprof.mapping.has_inline_frames":
			result.HasInlineFrames = value.Bool()
		}
	})
	return result
}

// reachedMappings gives the profile the mappings that its locations have.
func (r *reference) reachedMappings() {
	for _, m := range r.mappings {
		if slices.ContainsFunc(r.profile.Location, func(l *profile.Location) bool { return l.Mapping == m }) {
			r.profile.Mapping = append(r.profile.Mapping, m)
		}
	}
}

func (r *reference) sample(s pprofile.Sample) *profile.Sample {
	result := &profile.Sample{
		Value: []int64{0}, Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{},
	}
	for _, v := range s.Values().All() {
		result.Value[0] += v
	}
	if s.Values().Len() == 0 {
		result.Value[0] = int64(s.TimestampsUnixNano().Len())
	}
	for _, index := range r.dict.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		result.Location = append(result.Location, r.location(r.dict.LocationTable().At(int(index))))
	}
	r.each(s.AttributeIndices(), func(key, unit string, value pcommon.Value) { addLabels(result, key, unit, value) })
	return result
}

func (r *reference) location(l pprofile.Location) *profile.Location {
	result := &profile.Location{ID: uint64(len(r.profile.Location) + 1), Address: l.Address(), Mapping: r.mappings[l.MappingIndex()]}
	r.each(l.AttributeIndices(), func(key, _ string, value pcommon.Value) {
		result.IsFolded = result.IsFolded || key == "pprof.location.is_folded" && value.Bool()
	})
	for _, line := range l.Lines().All() {
		f := r.dict.FunctionTable().At(int(line.FunctionIndex()))
		function := &profile.Function{
			ID: uint64(len(r.profile.Function) + 1), Name: stringAt(r.dict, f.NameStrindex()),
			SystemName: stringAt(r.dict, f.SystemNameStrindex()), Filename: stringAt(r.dict, f.FilenameStrindex()), StartLine: f.StartLine(),
		}
		r.profile.Function = append(r.profile.Function, function)
		result.Line = append(result.Line, profile.Line{Function: function, Line: line.Line(), Column: line.Column()})
	}
	r.profile.Location = append(r.profile.Location, result)
	return result
}

// addLabels adds what an attribute becomes: a text or a number, several of them for a list of those, else its text.
func addLabels(s *profile.Sample, key, unit string, v pcommon.Value) {
	switch {
	case v.Type() == pcommon.ValueTypeInt && (v.Int() != 0 || unit != ""):
		s.NumLabel[key] = append(s.NumLabel[key], v.Int())
		s.NumUnit[key] = append(s.NumUnit[key], unit)
	case v.Type() == pcommon.ValueTypeInt:
	case v.Type() == pcommon.ValueTypeSlice && isLabelList(v.Slice()):
		for _, item := range v.Slice().All() {
			itemUnit := unit
			if item.Type() == pcommon.ValueTypeMap {
				if own, ok := item.Map().Get("unit"); ok {
					itemUnit = own.Str()
				}
				item, _ = item.Map().Get("value")
			}
			addLabels(s, key, itemUnit, item)
		}
	default:
		s.Label[key] = append(s.Label[key], textOf(v))
	}
}

// textOf is AsString, but with text for the numbers that JSON lacks: a list or map that holds one has no text in pdata.
func textOf(v pcommon.Value) string {
	text := v.AsString()
	if text != "" || (v.Type() != pcommon.ValueTypeSlice && v.Type() != pcommon.ValueTypeMap) {
		return text
	}
	mended := pcommon.NewValueEmpty()
	_ = mended.FromRaw(mendNumbers(v.AsRaw())) // what AsRaw gives FromRaw takes
	return mended.AsString()
}

func mendNumbers(raw any) any {
	switch raw := raw.(type) {
	case float64:
		if math.IsNaN(raw) || math.IsInf(raw, 0) {
			return pcommon.NewValueDouble(raw).AsString()
		}
	case []any:
		for i := range raw {
			raw[i] = mendNumbers(raw[i])
		}
	case map[string]any:
		for key := range raw {
			raw[key] = mendNumbers(raw[key])
		}
	}
	return raw
}

// isLabelList tells whether a list is of texts and numbers, or of pairs {value, unit} of those, and not empty.
func isLabelList(list pcommon.Slice) bool {
	for _, item := range list.All() {
		if item.Type() == pcommon.ValueTypeMap {
			value, ok := item.Map().Get("value")
			unit, hasUnit := item.Map().Get("unit")
			if !ok || hasUnit && (unit.Type() != pcommon.ValueTypeStr || item.Map().Len() != 2) || !hasUnit && item.Map().Len() != 1 {
				return false
			}
			item = value
		}
		if item.Type() != pcommon.ValueTypeStr && item.Type() != pcommon.ValueTypeInt {
			return false
		}
	}
	return list.Len() > 0
}
