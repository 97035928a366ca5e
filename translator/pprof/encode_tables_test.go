// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// codeMessage returns a message whose samples refer to one location of each kind.
func codeMessage() *message {
	m := newMessage()
	d := m.dict
	flag := func(key string) int32 { return m.attribute(key, true, "") }
	plain := d.Mapping(dictionary.Mapping{Start: 1, Filename: d.String("main")}, nil)
	d.Mapping(dictionary.Mapping{Start: 2, Filename: d.String("orphan")}, nil)
	full := d.Mapping(dictionary.Mapping{Start: 0x1000, Limit: math.MaxUint64, Offset: 0x30, Filename: d.String("lib")}, dictionary.SortSet([]int32{
		m.attribute("process.executable.build_id.gnu", "abc", ""), flag("pprof.mapping.has_functions"), flag("pprof.mapping.has_filenames"),
		flag("pprof.mapping.has_line_numbers"), flag("pprof.mapping.has_inline_frames"),
	}, 0))
	strange := d.Mapping(dictionary.Mapping{Start: 3}, dictionary.SortSet([]int32{
		m.attribute("process.executable.build_id.go", "x", ""), m.attribute("pprof.mapping.has_functions", "true", ""),
		m.attribute("process.executable.build_id.gnu", 5, ""), m.attribute("pprof.mapping.has_filenames", false, ""),
	}, 0))
	inner := d.Function(dictionary.Function{Name: d.String("inner"), SystemName: d.String("_inner"), Filename: d.String("a.cc"), StartLine: 5})
	outer := d.Function(dictionary.Function{Name: d.String("outer"), StartLine: -5})
	d.Function(dictionary.Function{Name: d.String("orphan")})
	location := func(l dictionary.Location, lines []dictionary.Line, attributes ...int32) int32 {
		return d.Location(l, lines, dictionary.SortSet(attributes, 0))
	}
	stack := d.Stack([]int32{
		location(dictionary.Location{Address: math.MaxUint64, Mapping: full},
			[]dictionary.Line{{Function: inner, Line: 20, Column: 3}, {Function: outer, Line: 10}, {Function: inner, Line: -1}, {Line: 7}},
			flag("pprof.location.is_folded"), m.attribute("profile.frame.type", "native", "")),
		location(dictionary.Location{Address: 1}, nil, m.attribute("pprof.location.is_folded", "yes", "")),
		location(dictionary.Location{Address: 2, Mapping: strange}, nil),
		location(dictionary.Location{Address: 3, Mapping: plain}, nil),
		0,
	})
	m.sample(m.profile("cpu/ns"), stack, []int64{1})
	return m
}

// TestTables: locations, functions and mappings with every field, without those that nothing refers to.
func TestTables(t *testing.T) {
	all := encode(t, codeMessage().done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	p := all[0].parsed
	var mappings []string
	for _, m := range p.Mapping {
		mappings = append(mappings, fmt.Sprintf("%d %#x-%#x@%#x %q %q %t %t %t %t", m.ID, m.Start, m.Limit, m.Offset, m.File, m.BuildID,
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames))
	}
	assert.Equal(t, []string{
		`1 0x1-0x0@0x0 "main" "" false false false false`,
		`2 0x1000-0xffffffffffffffff@0x30 "lib" "abc" true true true true`,
		`3 0x3-0x0@0x0 "" "x" false false false false`,
	}, mappings, "in the order of their table, not of their use")
	var locations []string
	for _, l := range p.Sample[0].Location {
		locations = append(locations, showLocation(l))
	}
	assert.Equal(t, []string{
		"0xffffffffffffffff lib folded=true inner:20:3 outer:10:0 inner:-1:0 :7:0", "0x1  folded=false", "0x2  folded=false", "0x3 main folded=false",
		"0x0  folded=false",
	}, locations)
	require.Len(t, p.Function, 3)
	inner := p.Sample[0].Location[0].Line[0].Function
	assert.Equal(t, profile.Function{ID: inner.ID, Name: "inner", SystemName: "_inner", Filename: "a.cc", StartLine: 5}, *inner)
	assert.Equal(t, int64(-5), p.Sample[0].Location[0].Line[1].Function.StartLine)
	// The frame type, a flag that is a string, and two of the third mapping's four attributes.
	assert.Equal(t, pprof.Losses{Attributes: 2 + 2}, all[0].Lost)
}

func showLocation(l *profile.Location) string {
	file := ""
	if l.Mapping != nil {
		file = l.Mapping.File
	}
	parts := []string{fmt.Sprintf("%#x %s folded=%t", l.Address, file, l.IsFolded)}
	for _, line := range l.Line {
		parts = append(parts, fmt.Sprintf("%s:%d:%d", line.Function.Name, line.Line, line.Column))
	}
	return strings.Join(parts, " ")
}

// TestBuildIDKinds: a build id keeps its kind from OTLP to pprof and back.
func TestBuildIDKinds(t *testing.T) {
	for kind, id := range map[string]string{
		"gnu":     "c89b11207f6479603b0d49bf291c092c2b719293",
		"go":      "foh3mEXu7BLZjsN9pOwG/kATcXlYVCDEFouRMQed_/WwRFB1hPo9LBkekthSPG/x8hMC8emW2cCjXD0_1aY",
		"htlhash": "600dcafe4a110000f2bf38c493f5fb92",
	} {
		m := newMessage()
		key := "process.executable.build_id." + kind
		mapping := m.dict.Mapping(dictionary.Mapping{Start: 1}, []int32{m.attribute(key, id, "")})
		m.sample(m.profile("cpu/ns"), m.dict.Stack([]int32{m.dict.Location(dictionary.Location{Mapping: mapping}, nil, nil)}), []int64{1})
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(encode(t, m.done(), pprof.EncodeOptions{})[0].Pprof, pprof.Source{})
		require.NoError(t, err)
		assert.Equal(t, []string{` 0x1-0x0@0x0 {` + key + `="` + id + `"}`}, decoded{pd: pd}.mappings())
	}
}

// TestBuildID: the build id is the first of these attributes with a text; the others are lost.
func TestBuildID(t *testing.T) {
	const prefix = "process.executable.build_id."
	for name, test := range map[string]struct {
		ids  map[string]any
		want string
		lost int
	}{
		"none":                {nil, "", 0},
		"gnu":                 {map[string]any{"gnu": "a"}, "a", 0},
		"go":                  {map[string]any{"go": "b"}, "b", 0},
		"htlhash":             {map[string]any{"htlhash": "c"}, "c", 0},
		"gnu before go":       {map[string]any{"gnu": "a", "go": "b"}, "a", 1},
		"go before htlhash":   {map[string]any{"go": "b", "htlhash": "c"}, "b", 1},
		"all":                 {map[string]any{"gnu": "a", "go": "b", "htlhash": "c"}, "a", 2},
		"an empty one":        {map[string]any{"gnu": "", "go": "b"}, "b", 0},
		"one that is no text": {map[string]any{"gnu": 5, "htlhash": "c"}, "c", 1},
		"an unknown kind":     {map[string]any{"md5": "d"}, "", 1},
	} {
		m := newMessage()
		attributes := []int32{}
		for _, kind := range []string{"htlhash", "md5", "go", "gnu"} {
			if id, found := test.ids[kind]; found {
				attributes = append(attributes, m.attribute(prefix+kind, id, ""))
			}
		}
		mapping := m.dict.Mapping(dictionary.Mapping{Start: 1}, attributes)
		m.sample(m.profile("cpu/ns"), m.dict.Stack([]int32{m.dict.Location(dictionary.Location{Mapping: mapping}, nil, nil)}), []int64{1})
		all := encode(t, m.done(), pprof.EncodeOptions{})
		assert.Equal(t, test.want, all[0].parsed.Mapping[0].BuildID, name)
		assert.Equal(t, test.lost, all[0].Lost.Attributes, name)
	}
}

// TestMainMappingComesFirst: the main binary in the profile's attribute comes first, even if it is not first in the
// dictionary, or if no sample refers to it. An invalid attribute becomes a comment.
func TestMainMappingComesFirst(t *testing.T) {
	main := map[string]any{"filename": "main", "build_id": "b", "memory_start": 4096, "has_functions": true}
	tooLarge := map[string]any{}
	for i := range 10 {
		tooLarge[strconv.Itoa(i)] = i
	}
	for name, test := range map[string]struct {
		value    any
		reached  bool
		want     []string
		comments int
	}{
		"reached":     {main, true, []string{"main b", "lib "}, 0},
		"not reached": {main, false, []string{"main b", "lib "}, 0},
		"no map":      {"main", true, []string{"lib ", "main b"}, 1},
		"a large map": {tooLarge, true, []string{"lib ", "main b"}, 1},
		"odd fields":  {map[string]any{"filename": 5, "memory_start": "x", "other": true}, false, []string{" ", "lib "}, 0},
	} {
		m := newMessage()
		d := m.dict
		mappings := []int32{d.Mapping(dictionary.Mapping{Start: 1, Filename: d.String("lib")}, nil)}
		if test.reached {
			mappings = append(mappings, d.Mapping(dictionary.Mapping{Start: 4096, Filename: d.String("main")}, dictionary.SortSet([]int32{
				m.attribute("process.executable.build_id.gnu", "b", ""), m.attribute("pprof.mapping.has_functions", true, ""),
			}, 0)))
		}
		p := m.profile("cpu/ns")
		for _, mapping := range mappings {
			m.sample(p, d.Stack([]int32{d.Location(dictionary.Location{Mapping: mapping}, nil, nil)}), []int64{1})
		}
		p.AttributeIndices().Append(m.attribute("pprof.profile.main_mapping", test.value, ""))
		got := encode(t, m.done(), pprof.EncodeOptions{})[0].parsed
		var files []string
		for _, mapping := range got.Mapping {
			files = append(files, mapping.File+" "+mapping.BuildID)
		}
		assert.Equal(t, test.want, files, name)
		assert.Len(t, got.Comments, test.comments, name)
		assert.Equal(t, "lib", got.Sample[0].Location[0].Mapping.File, name)
	}
}

// TestStringsOfTheGroup: a pprof has the strings that it uses, each once, the empty one first.
func TestStringsOfTheGroup(t *testing.T) {
	m := newMessage()
	m.dict.String("orphan")
	m.sample(m.profile("a/a"), m.stack("a", "b"), []int64{1}, m.attribute("a", "b", ""))
	other := m.profile("a/a")
	other.SetTime(1)
	m.sample(other, m.stack("c"), []int64{1})
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 2)
	for i, want := range [][]string{{"", "a", "b"}, {"", "a", "c"}} {
		wire := readWire(t, all[i].Pprof)
		var got []string
		for i := range wire.NumStrings() {
			got = append(got, string(wire.String(uint32(i))))
		}
		assert.ElementsMatch(t, want, got)
		assert.Empty(t, got[0])
	}
}

// readWire parses a pprof without google/pprof.
func readWire(t *testing.T, raw []byte) *pprofwire.Profile {
	t.Helper()
	var wire pprofwire.Profile
	require.NoError(t, wire.Read(raw, pprofwire.NoLimits()))
	return &wire
}

// TestEntryZeroOfTheMessage: index 0 means nothing, whatever entry 0 contains, and also in empty tables.
func TestEntryZeroOfTheMessage(t *testing.T) {
	m := newMessage()
	p := m.profile("/")
	m.sample(p, 0, []int64{1}, 0)
	pd := m.pd
	all := encode(t, pd, pprof.EncodeOptions{})
	assert.Equal(t, []string{" [1]"}, all[0].samples())

	d := pd.Dictionary()
	d.StringTable().Append("zero", "x")
	d.AttributeTable().AppendEmpty().SetKeyStrindex(1)
	d.LinkTable().AppendEmpty().SetTraceID([16]byte{1})
	d.FunctionTable().AppendEmpty().SetNameStrindex(1)
	d.LocationTable().AppendEmpty().SetAddress(1)
	d.MappingTable().AppendEmpty().SetMemoryStart(1)
	d.StackTable().AppendEmpty().LocationIndices().Append(0)
	all = encode(t, pd, pprof.EncodeOptions{})
	assert.Equal(t, []string{"/"}, all[0].types())
	assert.Equal(t, []string{" [1]"}, all[0].samples())

	stack := d.StackTable().AppendEmpty()
	stack.LocationIndices().Append(0)
	p.Samples().At(0).SetStackIndex(1)
	all = encode(t, pd, pprof.EncodeOptions{})
	assert.Equal(t, []string{"0x0 [1]"}, all[0].samples())
}
