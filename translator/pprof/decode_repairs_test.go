// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestRepairs: each kind of repair is counted, and the message is valid.
func TestRepairs(t *testing.T) {
	unknown := []byte{0x80, 1, 5} // field 16, a varint of 5
	for name, test := range map[string]struct {
		build func(*payload)
		want  pprof.Repairs
	}{
		"none": {func(*payload) {}, pprof.Repairs{}},
		"unknown fields": {func(p *payload) {
			p.body = append(append(p.body, unknown...), unknown...)
		}, pprof.Repairs{UnknownFields: 2}},
		"not UTF-8": {func(p *payload) {
			// A string counts once, however often it is used, and one that nothing uses does not count.
			p.sample([]uint32{1}, []int64{1}, str("a\xff", "a\xff")).sample([]uint32{1}, []int64{2}, str("b", "a\xff"), num("a\xff", 1, "a\xff"))
			p.header(pprofwire.Header{Comments: []uint32{p.text("a\xff"), p.text("\xfe")}, DefaultSampleType: p.text("a\xff")})
			p.add("\xff unused")
		}, pprof.Repairs{InvalidUTF8: 2}},
		"no values": {func(p *payload) {
			p.sample([]uint32{1}, nil).sample([]uint32{1}, []int64{1}).sample([]uint32{1}, nil)
		}, pprof.Repairs{NoValues: 2}},
		"entries twice": {func(p *payload) {
			p.function(pprofwire.Function{ID: 1, Name: p.text("leaf")}).
				location(pprofwire.Location{ID: 2}, pprofwire.Line{FunctionID: 2}).
				mapping(pprofwire.Mapping{ID: 7, Start: 1}).mapping(pprofwire.Mapping{ID: 7, Start: 1})
		}, pprof.Repairs{RepeatedEntries: 3}},
		"unknown mapping": {func(p *payload) {
			p.location(pprofwire.Location{ID: 4, MappingID: 9, Address: 1}).location(pprofwire.Location{ID: 5, MappingID: 9, Address: 2}).
				sample([]uint32{4, 4}, []int64{1}) // no sample refers to location 5
		}, pprof.Repairs{UnknownMappings: 1}},
		"no function": {func(p *payload) {
			p.location(pprofwire.Location{ID: 4}, pprofwire.Line{Line: 1}, pprofwire.Line{Line: 2}).sample([]uint32{4, 4}, []int64{1})
		}, pprof.Repairs{NoFunction: 2}},
		"negative times": {func(p *payload) { p.header(pprofwire.Header{TimeNanos: -1, DurationNanos: -1}) }, pprof.Repairs{NegativeTimes: 2}},
		"first string":   {func(p *payload) { p.table[0] = "x" }, pprof.Repairs{FirstString: 1}},
		"all": {func(p *payload) {
			p.body = append(p.body, unknown...)
			p.table[0] = "x"
			p.location(pprofwire.Location{ID: 4, MappingID: 9}, pprofwire.Line{}).sample([]uint32{4}, nil).header(pprofwire.Header{TimeNanos: -1})
		}, pprof.Repairs{UnknownFields: 1, NoValues: 1, UnknownMappings: 1, NoFunction: 1, NegativeTimes: 1, FirstString: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code()
			test.build(p)
			assert.Equal(t, test.want, decode(t, p, pprof.DecodeOptions{}).stats.Repairs)
		})
	}
}

// TestRepairedContent checks the content after repairs.
func TestRepairedContent(t *testing.T) {
	p := newPayload("c\xffpu/n\xff\xfes").code().
		location(pprofwire.Location{ID: 4, MappingID: 9, Address: 4}).
		location(pprofwire.Location{ID: 5}, pprofwire.Line{Line: 7}).
		sample([]uint32{4, 5}, nil, str("a\xff", "\xff")).
		sample([]uint32{1}, []int64{1}, num("b", 1, "\xff"), num("b", 2, "\xfe"))
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{"c\uFFFDpu/n\uFFFDs"}, d.types())
	assert.Equal(t, []string{"0x4; 0 {a\uFFFD=\"\uFFFD\"}", "leaf 1 {b=[1,2] \uFFFD}"}, d.samples(0))
}

// TestDecodeLeavesNothingBehind: memory that is reused does not leak content into the next message.
func TestDecodeLeavesNothingBehind(t *testing.T) {
	large := newPayload("cpu\xff/ns", "b/2", "c/3").code().
		mapping(pprofwire.Mapping{ID: 1 << 40, Start: 5}).
		location(pprofwire.Location{ID: 1 << 20, MappingID: 1 << 40}, pprofwire.Line{}).
		sample([]uint32{1, 2, 1 << 20}, []int64{1, 2, 3}, str("trace_id", trace), str("span_id", span), str("a", "b\xff"), num("x", 1, "y"), num("x", 2, "z")).
		header(pprofwire.Header{TimeNanos: 5, Period: 7, DurationNanos: -1})
	large.period("wall/ns")
	payloads := [][]byte{
		large.bytes(),
		newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}).header(pprofwire.Header{TimeNanos: 5}).bytes(),
		newPayload().header(pprofwire.Header{TimeNanos: 5}).bytes(),
		append(newPayload("cpu/ns").header(pprofwire.Header{TimeNanos: 5}).bytes(), 0xff), // invalid
		gzipped(t, large.bytes()),
		newPayload("cpu/ns").code().sample([]uint32{9}, []int64{1}).bytes(), // invalid, found later
	}
	shared := pprof.NewDecoder(pprof.DecodeOptions{})
	for range 3 {
		for _, raw := range payloads {
			want, wantStats, wantErr := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw, pprof.Source{})
			got, gotStats, gotErr := shared.Decode(raw, pprof.Source{})
			require.Equal(t, wantStats, gotStats)
			if wantErr != nil {
				require.EqualError(t, gotErr, wantErr.Error())
				continue
			}
			require.NoError(t, gotErr)
			require.Equal(t, profiletest.Marshal(t, want), profiletest.Marshal(t, got))
		}
	}
}
