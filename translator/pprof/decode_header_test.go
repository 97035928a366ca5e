// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestTimesAndPeriod: every profile has the times and the period of the payload.
func TestTimesAndPeriod(t *testing.T) {
	for name, test := range map[string]struct {
		time, duration int64
		wantTime       uint64
		wantDuration   uint64
		negative       int
	}{
		"both":              {1_700_000_000_123_456_789, 30_000_000_001, 1_700_000_000_123_456_789, 30_000_000_001, 0},
		"none":              {0, 0, 0, 0, 0},
		"largest":           {math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, 0},
		"negative time":     {-1, 5, 0, 5, 1},
		"negative duration": {5, math.MinInt64, 5, 0, 1},
		"both negative":     {-5, -5, 0, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("a/1", "b/2").period("cpu/ns").
				header(pprofwire.Header{TimeNanos: test.time, DurationNanos: test.duration, Period: -7})
			d := decode(t, p, pprof.DecodeOptions{})
			for _, profile := range d.scope().Profiles().All() {
				assert.Equal(t, test.wantTime, uint64(profile.Time()))
				assert.Equal(t, test.wantDuration, profile.DurationNano())
				assert.Equal(t, int64(-7), profile.Period())
				assert.Equal(t, "cpu/ns", typeName(d.pd.Dictionary(), profile.PeriodType()))
			}
			assert.Equal(t, test.negative, d.stats.Repairs.NegativeTimes)
		})
	}
}

// TestNoPeriodType: without a period type there is no period type in the message, even if there is a period.
func TestNoPeriodType(t *testing.T) {
	d := decode(t, newPayload("a/1").header(pprofwire.Header{Period: 100}), pprof.DecodeOptions{})
	assert.Equal(t, "/", typeName(d.pd.Dictionary(), d.profile(0).PeriodType()))
	assert.Equal(t, int64(100), d.profile(0).Period())
}

// TestProfileAttributes: the first profile of the group has the comments, each profile has all other attributes. Unset
// fields make no attribute.
func TestProfileAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		header func(*payload) pprofwire.Header
		first  string
		second string
	}{
		"nothing": {func(*payload) pprofwire.Header { return pprofwire.Header{} }, "", ""},
		"comments": {func(p *payload) pprofwire.Header {
			return pprofwire.Header{Comments: []uint32{p.text("b"), p.text("a"), 0, p.text("b")}}
		}, `pprof.profile.comment=["b","a","","b"]`, ""},
		"one": {func(p *payload) pprofwire.Header { return pprofwire.Header{Comments: []uint32{p.text("b")}} }, `pprof.profile.comment=["b"]`, ""},
		"frames and URL": {
			func(p *payload) pprofwire.Header {
				return pprofwire.Header{DropFrames: p.text("drop.*"), KeepFrames: p.text("keep"), DocURL: p.text("https://example.com")}
			},
			`pprof.profile.drop_frames="drop.*", pprof.profile.keep_frames="keep", pprof.profile.doc_url="https://example.com"`,
			`pprof.profile.drop_frames="drop.*", pprof.profile.keep_frames="keep", pprof.profile.doc_url="https://example.com"`,
		},
		"set to nothing": {
			func(p *payload) pprofwire.Header {
				return pprofwire.Header{DropFrames: p.add(""), KeepFrames: p.add(""), DocURL: p.add(""), DefaultSampleType: p.add("")}
			}, "", "",
		},
		"both": {
			func(p *payload) pprofwire.Header {
				return pprofwire.Header{DocURL: p.text("u"), Comments: []uint32{p.text("c")}}
			},
			`pprof.profile.doc_url="u", pprof.profile.comment=["c"]`, `pprof.profile.doc_url="u"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("a/1", "b/2")
			d := decode(t, p.header(test.header(p)), pprof.DecodeOptions{})
			assert.Equal(t, test.first, d.attributes(d.profile(0).AttributeIndices()))
			assert.Equal(t, test.second, d.attributes(d.profile(1).AttributeIndices()))
			assert.Equal(t, "pprof.scope.sample_type_order=[1,0]", showMap(d.scope().Scope().Attributes()))
		})
	}
}

// TestOriginalPayload: the payload is copied unchanged, if the option is set.
func TestOriginalPayload(t *testing.T) {
	plain := newPayload("a/1", "b/2").code().sample([]uint32{1}, []int64{1, 2}).bytes()
	compressed, err := pprof.AppendGzip(nil, plain, 9)
	require.NoError(t, err)
	for name, raw := range map[string][]byte{"plain": plain, "gzip": compressed} {
		for _, include := range []bool{false, true} {
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{IncludeOriginalPayload: include}).Decode(raw, pprof.Source{})
			require.NoError(t, err)
			carried := 0
			for _, profile := range (decoded{pd: pd}).scope().Profiles().All() {
				if profile.OriginalPayload().Len() == 0 {
					assert.Empty(t, profile.OriginalPayloadFormat())
					continue
				}
				carried++
				assert.Equal(t, "pprof", profile.OriginalPayloadFormat(), name)
				assert.Equal(t, raw, profile.OriginalPayload().AsRaw(), name)
			}
			if include {
				assert.Positive(t, carried, name)
			} else {
				assert.Zero(t, carried, name)
			}
		}
	}
}

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
