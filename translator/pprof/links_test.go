// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	trace      = "4bf92f3577b34da6a3ce929d0e0e4736"
	span       = "00f067aa0ba902b7"
	spanNumber = 0x00f067aa0ba902b7
	noTrace    = "00000000000000000000000000000000"
	noSpan     = "0000000000000000"
	// longTrace is the largest trace id, longDecimal is the same in decimal.
	longTrace   = "ffffffffffffffffffffffffffffffff"
	longDecimal = "340282366920938463463374607431768211455"
)

// linkTests has labels of a sample, the link that they make, and the labels that stay attributes.
var linkTests = map[string]struct {
	labels []label
	want   string // as rendered by decoded.samples
}{
	"canonical":                {[]label{str("trace_id", trace), str("span_id", span)}, " -> " + trace + "/" + span},
	"canonical, turned":        {[]label{str("span_id", span), str("trace_id", trace)}, " -> " + trace + "/" + span},
	"canonical beside another": {[]label{str("a", "1"), str("trace_id", trace), str("b", "2"), str("span_id", span)}, ` {a="1", b="2"} -> ` + trace + "/" + span},
	"unpadded": {
		[]label{str("trace_id", "4bf92f35"), str("span_id", "2b7")},
		` {trace_id="4bf92f35", span_id="2b7"} -> ` + strings.Repeat("0", 24) + "4bf92f35/00000000000002b7",
	},
	"upper case": {
		[]label{str("trace_id", strings.ToUpper(trace)), str("span_id", strings.ToUpper(span))},
		` {trace_id="` + strings.ToUpper(trace) + `", span_id="` + strings.ToUpper(span) + `"} -> ` + trace + "/" + span,
	},
	"only the span is upper case": {
		[]label{str("trace_id", trace), str("span_id", strings.ToUpper(span))},
		` {trace_id="` + trace + `", span_id="` + strings.ToUpper(span) + `"} -> ` + trace + "/" + span,
	},
	"0x": {
		[]label{str("trace_id", "0x"+trace), str("span_id", "0X"+span)},
		` {trace_id="0x` + trace + `", span_id="0X` + span + `"} -> ` + trace + "/" + span,
	},
	"Datadog, span as text": {
		[]label{str("trace id", trace), str("span id", "67667974448284343")},
		` {trace id="` + trace + `", span id="67667974448284343"} -> ` + trace + "/" + span,
	},
	"Datadog, span as number": {
		[]label{str("trace id", trace), num("span id", spanNumber, "")},
		` {trace id="` + trace + `", span id=67667974448284343} -> ` + trace + "/" + span,
	},
	"Datadog, span above 2^63": {
		[]label{str("trace id", trace), num("span id", -1, "")},
		` {trace id="` + trace + `", span id=-1} -> ` + trace + "/ffffffffffffffff",
	},
	"Datadog, decimal trace": {
		[]label{str("trace id", longDecimal), str("span id", "1")},
		` {trace id="` + longDecimal + `", span id="1"} -> ` + longTrace + "/0000000000000001",
	},
	"Datadog, trace as number": {
		[]label{num("trace id", 255, ""), num("span id", 16, "")},
		` {trace id=255, span id=16} -> ` + strings.Repeat("0", 30) + "ff/0000000000000010",
	},
	"Datadog, a decimal of 129 bits": {
		[]label{str("trace id", "340282366920938463463374607431768211456"), str("span id", "1")},
		` {trace id="340282366920938463463374607431768211456", span id="1"}`,
	},
	"Polar Signals":      {[]label{str("otel.traceid", trace)}, ` {otel.traceid="` + trace + `"} -> ` + trace + "/" + noSpan},
	"a trace alone":      {[]label{str("trace_id", trace)}, ` {trace_id="` + trace + `"} -> ` + trace + "/" + noSpan},
	"a span alone":       {[]label{str("span_id", span)}, ` {span_id="` + span + `"}`},
	"span is no id":      {[]label{str("trace_id", trace), str("span_id", "main")}, ` {trace_id="` + trace + `", span_id="main"} -> ` + trace + "/" + noSpan},
	"span of zeros":      {[]label{str("trace_id", trace), str("span_id", noSpan)}, ` {trace_id="` + trace + `", span_id="` + noSpan + `"} -> ` + trace + "/" + noSpan},
	"all zeros":          {[]label{str("trace_id", noTrace), str("span_id", noSpan)}, ` {trace_id="` + noTrace + `", span_id="` + noSpan + `"}`},
	"trace of zeros":     {[]label{str("trace_id", noTrace), str("span_id", span)}, ` {trace_id="` + noTrace + `", span_id="` + span + `"}`},
	"trace is no hex":    {[]label{str("trace_id", "zz"), str("span_id", span)}, ` {trace_id="zz", span_id="` + span + `"}`},
	"trace too long":     {[]label{str("trace_id", trace+"0"), str("span_id", span)}, ` {trace_id="` + trace + `0", span_id="` + span + `"}`},
	"empty trace":        {[]label{str("trace_id", ""), str("span_id", span)}, ` {trace_id="", span_id="` + span + `"}`},
	"a number is no hex": {[]label{num("trace_id", 5, ""), num("span_id", 6, "")}, ` {trace_id=5, span_id=6}`},
	"two traces":         {[]label{str("trace_id", trace), str("trace_id", longTrace), str("span_id", span)}, ` {trace_id=["` + trace + `","` + longTrace + `"], span_id="` + span + `"}`},
	"two spans": {
		[]label{str("trace_id", trace), str("span_id", span), str("span_id", "1")},
		` {trace_id="` + trace + `", span_id=["` + span + `","1"]} -> ` + trace + "/" + noSpan,
	},
	"the first pair wins": {
		[]label{str("otel.traceid", longTrace), str("trace id", longDecimal), str("span id", "5"), str("trace_id", trace), str("span_id", span)},
		` {otel.traceid="` + longTrace + `", trace id="` + longDecimal + `", span id="5"} -> ` + trace + "/" + span,
	},
	"the first pair that says something": {
		[]label{str("trace_id", noTrace), str("span_id", noSpan), str("trace id", longDecimal), str("span id", "5")},
		` {trace_id="` + noTrace + `", span_id="` + noSpan + `", trace id="` + longDecimal + `", span id="5"} -> ` + longTrace + "/0000000000000005",
	},
	// Without the labels of the first pair, an Encoder would not restore them: the others already have its link.
	"two pairs of one link": {
		[]label{str("trace_id", trace), str("span_id", span), str("trace id", trace), num("span id", spanNumber, "")},
		` {trace_id="` + trace + `", span_id="` + span + `", trace id="` + trace + `", span id=67667974448284343} -> ` + trace + "/" + span,
	},
	"two pairs of one link, one of other names": {
		[]label{str("trace_id", trace), str("span_id", span), str("tid", trace), str("sid", span)},
		` {trace_id="` + trace + `", span_id="` + span + `", tid="` + trace + `", sid="` + span + `"} -> ` + trace + "/" + span,
	},
	"another label has the span alone": {
		[]label{str("trace_id", trace), str("span_id", span), str("profile_id", span)},
		` {profile_id="` + span + `"} -> ` + trace + "/" + span,
	},
}

func TestLinks(t *testing.T) {
	for name, test := range linkTests {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...)
			assert.Equal(t, []string{"leaf 1" + test.want}, decode(t, p, pprof.DecodeOptions{}).samples(0))
		})
	}
}

// TestLinksRoundTrip: decoding and encoding restores the labels, and adds none.
func TestLinksRoundTrip(t *testing.T) {
	for name, test := range linkTests {
		t.Run(name, func(t *testing.T) {
			raw := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...).bytes()
			want, form := profiletest.ParsePprof(raw)
			require.Equal(t, profiletest.Proto, form)
			for option, links := range map[string][]pprof.LinkLabels{
				"default":   nil,
				"no links":  {},
				"turned":    {{Trace: "otel.traceid"}, {Trace: "trace id", Span: "span id", Decimal: true}, {Trace: "trace_id", Span: "span_id"}},
				"one alone": {{Trace: "trace_id", Span: "span_id"}},
			} {
				pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{LinkLabels: links}).Decode(raw, pprof.Source{})
				require.NoError(t, err)
				got, _ := profiletest.ParsePprof(encodeOne(t, pprof.NewEncoder(pprof.EncodeOptions{}), pd))
				assert.Empty(t, profiletest.DiffPprof(want, got), option)
			}
		})
	}
}

// TestEqualLinksAreOne: samples of one span share a link, however their labels write it.
func TestEqualLinksAreOne(t *testing.T) {
	p := newPayload("cpu/ns").code().
		sample([]uint32{1}, []int64{1}, str("trace_id", trace), str("span_id", span)).
		sample([]uint32{2}, []int64{1}, str("trace_id", "0x"+trace), str("span_id", span)).
		sample([]uint32{3}, []int64{1}, str("trace id", trace), num("span id", spanNumber, "")).
		sample([]uint32{3}, []int64{1}, str("trace_id", trace), str("span_id", "1"))
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, 3, d.pd.Dictionary().LinkTable().Len(), "none, and two spans")
}

// TestOtherLinkLabels: the names can be configured, or none at all.
func TestOtherLinkLabels(t *testing.T) {
	build := func() *payload {
		return newPayload("cpu/ns").code().
			sample([]uint32{1}, []int64{1}, str("trace", trace), str("span", span), str("trace_id", longTrace), str("span_id", "1"))
	}
	attributes := ` {trace="` + trace + `", span="` + span + `", trace_id="` + longTrace + `", span_id="1"}`
	d := decode(t, build(), pprof.DecodeOptions{LinkLabels: []pprof.LinkLabels{{Trace: "trace", Span: "span"}}})
	assert.Equal(t, []string{"leaf 1" + attributes + " -> " + trace + "/" + span}, d.samples(0))
	d = decode(t, build(), pprof.DecodeOptions{LinkLabels: []pprof.LinkLabels{}})
	assert.Equal(t, []string{"leaf 1" + attributes}, d.samples(0))

	// A label without a key is not a span, even if the pair has no span.
	d = decode(t, newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, str("otel.traceid", trace), str("", span)), pprof.DecodeOptions{})
	assert.Equal(t, []string{`leaf 1 {otel.traceid="` + trace + `", ="` + span + `"} -> ` + trace + "/" + noSpan}, d.samples(0))
}

// TestOtherLinkLabelsRoundTrip: an Encoder adds no labels for a link that came from labels of other names, which stay
// attributes.
func TestOtherLinkLabelsRoundTrip(t *testing.T) {
	names := pprof.LinkLabels{Trace: "tid", Span: "sid"}
	decimal := pprof.LinkLabels{Trace: "tid", Span: "sid", Decimal: true}
	decimalDefault := pprof.LinkLabels{Trace: "trace_id", Span: "span_id", Decimal: true}
	for name, test := range map[string]struct {
		names  pprof.LinkLabels
		labels []label
		want   string
	}{
		"canonical":       {names, []label{str("tid", trace), str("sid", span)}, trace + "/" + span},
		"upper case":      {names, []label{str("tid", strings.ToUpper(trace)), str("sid", "0x"+span)}, trace + "/" + span},
		"unpadded":        {names, []label{str("tid", "4bf92f35"), str("sid", "2b7")}, strings.Repeat("0", 24) + "4bf92f35/00000000000002b7"},
		"no span":         {names, []label{str("tid", trace)}, trace + "/" + noSpan},
		"span is no id":   {names, []label{str("tid", trace), str("sid", "main")}, trace + "/" + noSpan},
		"decimal":         {decimal, []label{str("tid", longDecimal), str("sid", "67667974448284343")}, longTrace + "/" + span},
		"decimal numbers": {decimal, []label{num("tid", 255, ""), num("sid", spanNumber, "")}, strings.Repeat("0", 30) + "ff/" + span},
		"default names, decimal": {
			decimalDefault, []label{str("trace_id", longDecimal), str("span_id", "67667974448284343")}, longTrace + "/" + span,
		},
		"default names, decimal numbers": {
			decimalDefault, []label{num("trace_id", 255, ""), num("span_id", spanNumber, "")}, strings.Repeat("0", 30) + "ff/" + span,
		},
		"default names, a hex trace": {
			decimalDefault, []label{str("trace_id", trace), str("span_id", "67667974448284343")}, trace + "/" + span,
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...).bytes()
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{LinkLabels: []pprof.LinkLabels{test.names}}).Decode(raw, pprof.Source{})
			require.NoError(t, err)
			link := pd.Dictionary().LinkTable().At(1)
			traceID, spanID := link.TraceID(), link.SpanID()
			require.Equal(t, test.want, hex.EncodeToString(traceID[:])+"/"+hex.EncodeToString(spanID[:]), "the labels make a link")

			want, _ := profiletest.ParsePprof(raw)
			got, _ := profiletest.ParsePprof(encodeOne(t, pprof.NewEncoder(pprof.EncodeOptions{}), pd))
			assert.Empty(t, profiletest.DiffPprof(want, got))
		})
	}
}

// TestLinkBesideOtherIDs: a link is written unless attributes have both of its ids.
func TestLinkBesideOtherIDs(t *testing.T) {
	raw := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1},
		str("trace_id", trace), str("span_id", span), str("parent", trace), str("other", longTrace)).bytes()
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw, pprof.Source{})
	require.NoError(t, err)
	got, _ := profiletest.ParsePprof(encodeOne(t, pprof.NewEncoder(pprof.EncodeOptions{}), pd))
	assert.Equal(t, map[string][]string{"trace_id": {trace}, "span_id": {span}, "parent": {trace}, "other": {longTrace}}, got.Sample[0].Label)
}
