// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

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

// TestKindsOfAttributes: booleans and strings of pprof are booleans and strings in OTLP.
func TestKindsOfAttributes(t *testing.T) {
	p := newPayload("a/1")
	p.header(pprofwire.Header{Comments: []uint32{p.text("5")}, DocURL: p.text("true")})
	dict := decode(t, p, pprof.DecodeOptions{}).pd.Dictionary()
	assert.Equal(t, pcommon.ValueTypeStr, dict.AttributeTable().At(1).Value().Type())
	assert.Equal(t, pcommon.ValueTypeStr, dict.AttributeTable().At(2).Value().Slice().At(0).Type())
}
