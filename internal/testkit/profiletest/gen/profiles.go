// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"
)

// Profiles generates arbitrary OTLP messages that keep the rules of the protocol, but are untidy: their dictionaries
// hold duplicates and orphans, and attribute lists stand in any order. All samples of a profile have one shape.
func Profiles() *rapid.Generator[pprofile.Profiles] { return rapid.Custom(drawProfiles) }

func drawProfiles(t *rapid.T) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	drawDictionary(t, pd.Dictionary())
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		rp := pd.ResourceProfiles().AppendEmpty()
		drawMap(t, rp.Resource().Attributes())
		for range rapid.IntRange(0, 2).Draw(t, "scopes") {
			sp := rp.ScopeProfiles().AppendEmpty()
			sp.Scope().SetName(text().Draw(t, "scope"))
			sp.Scope().SetVersion(text().Draw(t, "version"))
			drawMap(t, sp.Scope().Attributes())
			drawPprofScope(t, sp)
			for range rapid.IntRange(0, 3).Draw(t, "profiles") {
				drawProfile(t, pd.Dictionary(), sp.Profiles().AppendEmpty())
			}
		}
	}
	return pd
}

// drawPprofScope adds, at times, what a translator of pprofs writes to a scope, whether it fits or not.
func drawPprofScope(t *rapid.T, sp pprofile.ScopeProfiles) {
	if rapid.Bool().Draw(t, "has default") {
		sp.Scope().Attributes().PutStr("pprof.scope.default_sample_type", text().Draw(t, "default"))
	}
	if rapid.Bool().Draw(t, "has order") {
		order := sp.Scope().Attributes().PutEmptySlice("pprof.scope.sample_type_order")
		for _, n := range rapid.OneOf(rapid.Permutation([]int64{0, 1, 2}), rapid.SliceOfN(number(), 0, 3)).Draw(t, "order") {
			order.AppendEmpty().SetInt(n)
		}
	}
}

func drawProfile(t *rapid.T, dict pprofile.ProfilesDictionary, p pprofile.Profile) {
	p.SetTime(pcommon.Timestamp(rapid.OneOf(rapid.Just(uint64(1000)), rapid.Uint64Range(0, math.MaxInt64)).Draw(t, "time")))
	p.SetDurationNano(rapid.OneOf(rapid.Just(uint64(100)), rapid.Uint64Range(0, math.MaxInt64)).Draw(t, "duration"))
	p.SetPeriod(number().Draw(t, "period"))
	p.SetDroppedAttributesCount(rapid.Uint32Range(0, 1).Draw(t, "dropped"))
	if rapid.Bool().Draw(t, "has id") {
		p.SetProfileID(pprofile.ProfileID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")))
	}
	for _, v := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
		v.SetTypeStrindex(index(t, dict.StringTable().Len()))
		v.SetUnitStrindex(index(t, dict.StringTable().Len()))
	}
	drawAttributes(t, dict, p.AttributeIndices())

	withValues := rapid.Bool().Draw(t, "with values")
	withTimestamps := !withValues || (p.DurationNano() > 0 && rapid.Bool().Draw(t, "with timestamps"))
	if withTimestamps && p.DurationNano() == 0 {
		p.SetDurationNano(1)
	}
	for range rapid.IntRange(0, 5).Draw(t, "samples") {
		s := p.Samples().AppendEmpty()
		s.SetStackIndex(index(t, dict.StackTable().Len()))
		s.SetLinkIndex(index(t, dict.LinkTable().Len()))
		drawAttributes(t, dict, s.AttributeIndices())
		for range rapid.IntRange(1, 3).Draw(t, "observations") {
			if withValues {
				s.Values().Append(number().Draw(t, "value"))
			}
			if withTimestamps {
				s.TimestampsUnixNano().Append(uint64(p.Time()) + rapid.Uint64Max(p.DurationNano()-1).Draw(t, "timestamp"))
			}
		}
	}
}

// drawAttributes appends attributes of different keys, in any order.
func drawAttributes(t *rapid.T, dict pprofile.ProfilesDictionary, indices pcommon.Int32Slice) {
	taken := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "attributes") {
		i := index(t, dict.AttributeTable().Len())
		key := dict.StringTable().At(int(dict.AttributeTable().At(int(i)).KeyStrindex()))
		if !taken[key] {
			taken[key] = true
			indices.Append(i)
		}
	}
}

func index(t *rapid.T, length int) int32 { return int32(rapid.IntRange(0, length-1).Draw(t, "index")) }

func drawMap(t *rapid.T, m pcommon.Map) {
	for range rapid.IntRange(0, 2).Draw(t, "attributes") {
		drawValue(t, m.PutEmpty(rapid.SampledFrom([]string{"service.name", "host.name", "a", ""}).Draw(t, "key")), 0)
	}
}

// drawValue sets v to a value of any kind.
func drawValue(t *rapid.T, v pcommon.Value, depth int) {
	kinds := 5
	if depth < 2 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0, 1:
		v.SetStr(labelText().Draw(t, "text"))
	case 2:
		v.SetInt(number().Draw(t, "number"))
	case 3:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case 4:
		v.SetDouble(rapid.OneOf(
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}), rapid.Float64(),
		).Draw(t, "double"))
	case 5:
		v.SetEmptyBytes().FromRaw(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes"))
	case 6:
		list := v.SetEmptySlice()
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			drawValue(t, list.AppendEmpty(), depth+1)
		}
	case 7:
		m := v.SetEmptyMap()
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			drawValue(t, m.PutEmpty(text().Draw(t, "key")), depth+1)
		}
	}
}

// drawDictionary fills every table with entry 0 and a few more, whose references exist.
func drawDictionary(t *rapid.T, dict pprofile.ProfilesDictionary) {
	strings := append([]string{""}, rapid.SliceOfN(labelKey(), 2, 12).Draw(t, "strings")...)
	strings = append(strings, rapid.SampledFrom([][]string{
		nil,
		{"pprof.profile.comment", "pprof.profile.drop_frames", "pprof.profile.keep_frames", "pprof.profile.doc_url", "profile.name"},
		{"pprof.location.is_folded", "pprof.mapping.has_functions", "process.executable.build_id.gnu", "profile.frame.type"},
	}).Draw(t, "keys of pprof")...)
	dict.StringTable().FromRaw(strings)
	text := func() int32 { return index(t, len(strings)) }

	dict.AttributeTable().AppendEmpty()
	for range rapid.IntRange(0, 8).Draw(t, "attributes") {
		kv := dict.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(text())
		kv.SetUnitStrindex(rapid.OneOf(rapid.Just(int32(0)), rapid.Int32Range(0, int32(len(strings)-1))).Draw(t, "unit"))
		drawValue(t, kv.Value(), 0)
	}
	dict.FunctionTable().AppendEmpty()
	for range rapid.IntRange(0, 5).Draw(t, "functions") {
		f := dict.FunctionTable().AppendEmpty()
		f.SetNameStrindex(text())
		f.SetSystemNameStrindex(text())
		f.SetFilenameStrindex(text())
		f.SetStartLine(rapid.Int64Range(0, 2).Draw(t, "start line"))
	}
	dict.MappingTable().AppendEmpty()
	for range rapid.IntRange(0, 3).Draw(t, "mappings") {
		m := dict.MappingTable().AppendEmpty()
		m.SetMemoryStart(address().Draw(t, "start"))
		m.SetMemoryLimit(address().Draw(t, "limit"))
		m.SetFileOffset(rapid.Uint64Range(0, 1).Draw(t, "offset"))
		m.SetFilenameStrindex(text())
		drawAttributes(t, dict, m.AttributeIndices())
	}
	drawLocations(t, dict)
	dict.StackTable().AppendEmpty()
	for range rapid.IntRange(0, 5).Draw(t, "stacks") {
		s := dict.StackTable().AppendEmpty()
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			s.LocationIndices().Append(index(t, dict.LocationTable().Len()))
		}
	}
	dict.LinkTable().AppendEmpty()
	for range rapid.IntRange(0, 3).Draw(t, "links") {
		l := dict.LinkTable().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{15: rapid.ByteRange(0, 2).Draw(t, "trace")})
		l.SetSpanID(pcommon.SpanID{7: rapid.ByteRange(0, 2).Draw(t, "span")})
	}
}

func drawLocations(t *rapid.T, dict pprofile.ProfilesDictionary) {
	dict.LocationTable().AppendEmpty()
	for range rapid.IntRange(0, 6).Draw(t, "locations") {
		l := dict.LocationTable().AppendEmpty()
		l.SetAddress(address().Draw(t, "address"))
		l.SetMappingIndex(index(t, dict.MappingTable().Len()))
		drawAttributes(t, dict, l.AttributeIndices())
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(index(t, dict.FunctionTable().Len()))
			line.SetLine(rapid.Int64Range(0, 2).Draw(t, "line"))
			line.SetColumn(rapid.Int64Range(0, 1).Draw(t, "column"))
		}
	}
}
