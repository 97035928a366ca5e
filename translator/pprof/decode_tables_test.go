// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// mappings renders the table without entry 0.
func (d decoded) mappings() []string {
	shown := []string{}
	for i, m := range d.pd.Dictionary().MappingTable().All() {
		if i > 0 {
			shown = append(shown, fmt.Sprintf("%s %#x-%#x@%#x {%s}", d.text(m.FilenameStrindex()), m.MemoryStart(), m.MemoryLimit(),
				m.FileOffset(), d.attributes(m.AttributeIndices())))
		}
	}
	return shown
}

// locations renders the table without entry 0: address, mapping, lines as function:line:column, and attributes.
func (d decoded) locations() []string {
	shown := []string{}
	dict := d.pd.Dictionary()
	for i, l := range dict.LocationTable().All() {
		if i == 0 {
			continue
		}
		text := fmt.Sprintf("%#x in %d", l.Address(), l.MappingIndex())
		for _, line := range l.Lines().All() {
			name := d.text(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex())
			text += fmt.Sprintf(" %s:%d:%d", name, line.Line(), line.Column())
		}
		if attributes := d.attributes(l.AttributeIndices()); attributes != "" {
			text += " {" + attributes + "}"
		}
		shown = append(shown, text)
	}
	return shown
}

// TestMappings: mappings keep their order. Only those that samples refer to are kept, or all of them with the option.
func TestMappings(t *testing.T) {
	build := func() *payload {
		p := newPayload("cpu/ns")
		for i, name := range []string{"main", "libc", "unused", "vdso"} {
			id := uint64(i + 1)
			p.mapping(pprofwire.Mapping{ID: id, Start: id << 12, Limit: id<<12 + 16, Offset: id, Filename: p.text(name)})
		}
		p.location(pprofwire.Location{ID: 1, MappingID: 4, Address: 0x4001}).
			location(pprofwire.Location{ID: 2, MappingID: 2, Address: 0x2001}).
			location(pprofwire.Location{ID: 3, MappingID: 3, Address: 0x3001}).
			location(pprofwire.Location{ID: 4, MappingID: 1, Address: 0x1001}).
			location(pprofwire.Location{ID: 5, Address: 0x5001})
		return p.sample([]uint32{1, 2, 5}, []int64{1}).sample([]uint32{4}, []int64{1})
	}
	d := decode(t, build(), pprof.DecodeOptions{})
	assert.Equal(t, []string{"main 0x1000-0x1010@0x1 {}", "libc 0x2000-0x2010@0x2 {}", "vdso 0x4000-0x4010@0x4 {}"}, d.mappings())
	assert.Equal(t, []string{"0x4001 in 3", "0x2001 in 2", "0x1001 in 1", "0x5001 in 0"}, d.locations())

	d = decode(t, build(), pprof.DecodeOptions{KeepUnreferencedMappings: true})
	assert.Equal(t, []string{
		"main 0x1000-0x1010@0x1 {}", "libc 0x2000-0x2010@0x2 {}", "unused 0x3000-0x3010@0x3 {}", "vdso 0x4000-0x4010@0x4 {}",
	}, d.mappings())
}

// TestMappingAttributes: the build id and each flag that is true become attributes.
func TestMappingAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		mapping func(*payload) pprofwire.Mapping
		want    string
	}{
		"none":     {func(*payload) pprofwire.Mapping { return pprofwire.Mapping{} }, ""},
		"build id": {func(p *payload) pprofwire.Mapping { return pprofwire.Mapping{BuildID: p.text("abc")} }, `process.executable.build_id.gnu="abc"`},
		"build id of Go": {
			func(p *payload) pprofwire.Mapping { return pprofwire.Mapping{BuildID: p.text("a-1/b_2/c/d")} },
			`process.executable.build_id.go="a-1/b_2/c/d"`,
		},
		"htlhash": {
			func(p *payload) pprofwire.Mapping {
				return pprofwire.Mapping{BuildID: p.text("600dcafe4a110000f2bf38c493f5fb92")}
			},
			`process.executable.build_id.htlhash="600dcafe4a110000f2bf38c493f5fb92"`,
		},
		"UUID of a Mac": {
			func(p *payload) pprofwire.Mapping {
				return pprofwire.Mapping{BuildID: p.text("600DCAFE4A110000F2BF38C493F5FB92")}
			},
			`process.executable.build_id.gnu="600DCAFE4A110000F2BF38C493F5FB92"`,
		},
		"empty build id": {func(p *payload) pprofwire.Mapping { return pprofwire.Mapping{BuildID: p.add("")} }, ""},
		"functions":      {func(*payload) pprofwire.Mapping { return pprofwire.Mapping{HasFunctions: true} }, "pprof.mapping.has_functions=true"},
		"file names":     {func(*payload) pprofwire.Mapping { return pprofwire.Mapping{HasFilenames: true} }, "pprof.mapping.has_filenames=true"},
		"line numbers":   {func(*payload) pprofwire.Mapping { return pprofwire.Mapping{HasLineNumbers: true} }, "pprof.mapping.has_line_numbers=true"},
		"inline frames":  {func(*payload) pprofwire.Mapping { return pprofwire.Mapping{HasInlineFrames: true} }, "pprof.mapping.has_inline_frames=true"},
		"all": {
			func(p *payload) pprofwire.Mapping {
				return pprofwire.Mapping{BuildID: p.text("abc"), HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
			},
			`process.executable.build_id.gnu="abc", pprof.mapping.has_functions=true, pprof.mapping.has_filenames=true, ` +
				"pprof.mapping.has_line_numbers=true, pprof.mapping.has_inline_frames=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns")
			m := test.mapping(p)
			m.ID, m.Start = 7, 1
			p.mapping(m).location(pprofwire.Location{ID: 1, MappingID: 7}).sample([]uint32{1}, []int64{1})
			assert.Equal(t, []string{" 0x1-0x0@0x0 {" + test.want + "}"}, decode(t, p, pprof.DecodeOptions{}).mappings())
		})
	}
}

// TestLocationsAndFunctions: every field is kept. Lines keep their order, which has the inlining.
func TestLocationsAndFunctions(t *testing.T) {
	p := newPayload("cpu/ns")
	p.mapping(pprofwire.Mapping{ID: 1, Start: 1}).
		function(pprofwire.Function{ID: 9, Name: p.text("inner"), SystemName: p.text("_inner"), Filename: p.text("a.cc"), StartLine: 5}).
		function(pprofwire.Function{ID: 4, Name: p.text("outer"), StartLine: -5}).
		function(pprofwire.Function{ID: 5, Name: p.text("unused")}).
		location(pprofwire.Location{ID: 1 << 31, MappingID: 1, Address: math.MaxUint64, IsFolded: true},
			pprofwire.Line{FunctionID: 9, Line: 20, Column: 3}, pprofwire.Line{FunctionID: 4, Line: 10},
			pprofwire.Line{FunctionID: 9, Line: 5, Column: -1}).
		location(pprofwire.Location{ID: 3, Address: 1}).
		location(pprofwire.Location{ID: 8, Address: 8}, pprofwire.Line{FunctionID: 5}).
		sample([]uint32{3, 1 << 31, 3}, []int64{1})
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{
		"0xffffffffffffffff in 1 inner:20:3 outer:10:0 inner:5:-1 {pprof.location.is_folded=true}", "0x1 in 0",
	}, d.locations())
	assert.Equal(t, []string{"0x1;inner;0x1 1"}, d.samples(0))
	functions := d.pd.Dictionary().FunctionTable()
	assert.Equal(t, 3, functions.Len())
	inner, outer := functions.At(1), functions.At(2)
	assert.Equal(t, []string{"inner", "_inner", "a.cc"}, []string{
		d.text(inner.NameStrindex()), d.text(inner.SystemNameStrindex()), d.text(inner.FilenameStrindex()),
	})
	assert.Equal(t, int64(5), inner.StartLine())
	assert.Equal(t, []string{"outer", "", ""}, []string{
		d.text(outer.NameStrindex()), d.text(outer.SystemNameStrindex()), d.text(outer.FilenameStrindex()),
	})
	assert.Equal(t, int64(-5), outer.StartLine())
}

// TestStacks: stacks are leaf first, and each is in the table once.
func TestStacks(t *testing.T) {
	p := newPayload("cpu/ns").code().
		sample([]uint32{1, 2, 3}, []int64{1}).sample([]uint32{3, 2, 1}, []int64{2}).sample([]uint32{1, 1, 1}, []int64{3}).
		sample([]uint32{1, 2, 3}, []int64{4}).sample(nil, []int64{5}).sample([]uint32{1, 2}, []int64{6})
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{"leaf;middle;root 1", "root;middle;leaf 2", "leaf;leaf;leaf 3", "leaf;middle;root 4", " 5", "leaf;middle 6"}, d.samples(0))
	assert.Equal(t, 5, d.pd.Dictionary().StackTable().Len())
}

// TestMainMapping: the main binary is an attribute of the profile, unless samples refer to no other mapping.
func TestMainMapping(t *testing.T) {
	const named = `pprof.profile.main_mapping={"build_id":"of main","filename":"main","memory_start":4096}`
	for name, test := range map[string]struct {
		stack []uint32
		want  string
	}{
		"no samples":           {nil, named},
		"main alone":           {[]uint32{1}, ""},
		"another alone":        {[]uint32{2}, named},
		"main and another one": {[]uint32{2, 1}, named},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns", "wall/ns")
			for i, file := range []string{"main", "lib"} {
				id := uint64(i + 1)
				p.mapping(pprofwire.Mapping{ID: id, Start: id << 12, Filename: p.text(file), BuildID: p.text("of " + file)})
				p.location(pprofwire.Location{ID: id, MappingID: id, Address: 1})
			}
			if test.stack != nil {
				p.sample(test.stack, []int64{1, 2})
			}
			d := decode(t, p, pprof.DecodeOptions{})
			for i := range 2 {
				assert.Equal(t, test.want, d.attributes(d.profile(i).AttributeIndices()))
			}
		})
	}
}

// TestMainMappingTwice: mappings with equal content count as one, and empty ones do not count.
func TestMainMappingTwice(t *testing.T) {
	p := newPayload("cpu/ns")
	p.mapping(pprofwire.Mapping{ID: 1, Filename: p.text("main")}).mapping(pprofwire.Mapping{ID: 2}).
		mapping(pprofwire.Mapping{ID: 3, Filename: p.add("main")}).mapping(pprofwire.Mapping{ID: 4, Filename: p.text("unused")})
	p.location(pprofwire.Location{ID: 1, MappingID: 2, Address: 1}).location(pprofwire.Location{ID: 2, MappingID: 3, Address: 1})
	d := decode(t, p.sample([]uint32{1, 2}, []int64{1}), pprof.DecodeOptions{})
	assert.Empty(t, d.attributes(d.profile(0).AttributeIndices()))
}

// TestMainMappingWithoutName: the attribute has every field of the first mapping that is not empty.
func TestMainMappingWithoutName(t *testing.T) {
	d := decode(t, newPayload("cpu/ns").mapping(pprofwire.Mapping{ID: 3}).mapping(pprofwire.Mapping{
		ID: 4, Start: math.MaxUint64, Limit: 2, Offset: 3, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}), pprof.DecodeOptions{})
	assert.Equal(t, `pprof.profile.main_mapping={"file_offset":3,"has_filenames":true,"has_functions":true,"has_inline_frames":true,`+
		`"has_line_numbers":true,"memory_limit":2,"memory_start":-1}`, d.attributes(d.profile(0).AttributeIndices()))
}

// TestOrphansAreNotCarried: the dictionary has no entry that no sample refers to.
func TestOrphansAreNotCarried(t *testing.T) {
	p := newPayload("cpu/ns").code()
	p.text("a string that nothing uses")
	p.mapping(pprofwire.Mapping{ID: 1, Filename: p.text("main")}).location(pprofwire.Location{ID: 9, MappingID: 1})
	p.mapping(pprofwire.Mapping{ID: 2, Filename: p.text("orphan")})
	p.sample([]uint32{1, 9}, []int64{1})
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{"", "main", "leaf", "cpu", "ns"}, d.pd.Dictionary().StringTable().AsRaw())
	assert.Equal(t, 3, d.pd.Dictionary().LocationTable().Len())
	assert.Equal(t, 2, d.pd.Dictionary().FunctionTable().Len())
	assert.Equal(t, 2, d.pd.Dictionary().MappingTable().Len())

	d = decode(t, newPayload("cpu/ns").code(), pprof.DecodeOptions{})
	assert.Equal(t, []string{"", "cpu", "ns"}, d.pd.Dictionary().StringTable().AsRaw())
}

// TestEqualEntriesAreOne: entries that differ only in their id become one.
func TestEqualEntriesAreOne(t *testing.T) {
	p := newPayload("cpu/ns")
	for id := range uint64(3) {
		id++
		p.mapping(pprofwire.Mapping{ID: id, Start: 5}).function(pprofwire.Function{ID: id, Name: p.text("f")}).
			location(pprofwire.Location{ID: id, MappingID: id, Address: 7}, pprofwire.Line{FunctionID: id})
	}
	p.location(pprofwire.Location{ID: 4, MappingID: 1, Address: 7}, pprofwire.Line{FunctionID: 1, Column: 1})
	p.sample([]uint32{1, 4}, []int64{1}).sample([]uint32{2, 4}, []int64{1}).sample([]uint32{3, 4}, []int64{1})
	d := decode(t, p, pprof.DecodeOptions{})
	for _, table := range []interface{ Len() int }{
		d.pd.Dictionary().MappingTable(), d.pd.Dictionary().FunctionTable(), d.pd.Dictionary().StackTable(),
	} {
		assert.Equal(t, 2, table.Len())
	}
	assert.Equal(t, 3, d.pd.Dictionary().LocationTable().Len(), "a column makes another location")
}
