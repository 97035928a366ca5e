// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"
)

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
