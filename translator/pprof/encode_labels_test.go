// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestAttributes checks the labels for the attributes of a sample.
func TestAttributes(t *testing.T) {
	pair := func(value any, unit string) any { return map[string]any{"value": value, "unit": unit} }
	for name, test := range map[string]struct {
		value any
		unit  string
		want  string
	}{
		"text":                 {"a", "", `key=["a"]`},
		"empty text":           {"", "", `key=[""]`},
		"int":                  {5, "", `key=[5]`},
		"int with unit":        {5, "bytes", `key=[5] ["bytes"]`},
		"zero with unit":       {0, "bytes", `key=[0] ["bytes"]`},
		"bool":                 {true, "", `key=["true"]`},
		"double":               {2.5, "", `key=["2.5"]`},
		"double without parts": {1e6, "", `key=["1000000"]`},
		"NaN":                  {math.NaN(), "", `key=["NaN"]`},
		"bytes":                {[]byte{0xff, 0xfe}, "", `key=["//4="]`},
		"nothing":              {nil, "", `key=[""]`},
		"texts":                {[]any{"b", "a", "b", ""}, "", `key=["b" "a" "b" ""]`},
		"ints":                 {[]any{3, 0, 3}, "bytes", `key=[3 0 3] ["bytes" "bytes" "bytes"]`},
		"texts and ints":       {[]any{"a", 3, "b"}, "", `key=["a" "b"] key=[3]`},
		"pairs":                {[]any{pair(3, "bytes"), pair(4, "kilobytes"), pair(5, "")}, "", `key=[3 4 5] ["bytes" "kilobytes" ""]`},
		"a pair without unit":  {[]any{pair(3, "bytes"), map[string]any{"value": "a"}}, "", `key=["a"] key=[3] ["bytes"]`},
		"an empty list":        {[]any{}, "", `key=["[]"]`},
		"a list of bools":      {[]any{"a", true}, "", `key=["[\"a\",true]"]`},
		"a list of lists":      {[]any{[]any{1}}, "", `key=["[[1]]"]`},
		"other maps in a list": {[]any{map[string]any{"value": 1, "x": 2}}, "", `key=["[{\"value\":1,\"x\":2}]"]`},
		"a pair of doubles":    {[]any{pair(1.5, "s")}, "", `key=["[{\"unit\":\"s\",\"value\":1.5}]"]`},
		"map":                  {map[string]any{"b": 1, "a": []any{"<x>"}}, "", `key=["{\"a\":[\"<x>\"],\"b\":1}"]`},
		"map of NaN":           {map[string]any{"a": math.NaN()}, "", `key=["{\"a\":\"NaN\"}"]`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			m.sample(m.profile("cpu/ns"), m.stack("f"), []int64{1}, m.attribute("key", test.value, test.unit))
			assert.Equal(t, []string{"f [1] " + test.want}, encode(t, m.done(), pprof.EncodeOptions{})[0].samples())
		})
	}
}

// TestListOfProfileAndSample: a list is a comment of one pprof, and labels in another.
func TestListOfProfileAndSample(t *testing.T) {
	m := newMessage()
	list := m.attribute("key", []any{"a", "b"}, "")
	first, second := m.profile("cpu/ns"), m.profile("cpu/ns")
	first.AttributeIndices().Append(list)
	m.sample(first, m.stack("f"), []int64{1}, list)
	m.sample(second, m.stack("f"), []int64{2}, list)
	payloads := encode(t, m.done(), pprof.EncodeOptions{})
	assert.Equal(t, []string{`f [1] key=["a" "b"]`}, payloads[0].samples())
	assert.Equal(t, []string{`f [2] key=["a" "b"]`}, payloads[1].samples())
}

// TestLostUnits: in pprof only numbers have a unit. The encoder counts each attribute once that loses its unit.
func TestLostUnits(t *testing.T) {
	for name, test := range map[string]struct {
		value any
		lost  int
	}{
		"text":           {"5", 1},
		"double":         {2.5, 1},
		"int":            {5, 0},
		"texts":          {[]any{"a", "b"}, 1},
		"texts and ints": {[]any{"a", 5}, 0},
		"pairs":          {[]any{map[string]any{"value": 5}}, 0},
		"no labels":      {[]any{5, 2.5}, 1},
		"map":            {map[string]any{"a": 5}, 1},
	} {
		m := newMessage()
		profile, attribute := m.profile("cpu/ns"), m.attribute("key", test.value, "ms")
		m.sample(profile, m.stack("f"), []int64{1}, attribute)
		m.sample(profile, m.stack("g"), []int64{1}, attribute)
		assert.Equal(t, test.lost, encode(t, m.done(), pprof.EncodeOptions{})[0].Lost.Attributes, name)
	}

	m := newMessage()
	m.profile("cpu/ns").AttributeIndices().Append(m.attribute("timeout", 5, "ms"), m.attribute("key", 5, ""))
	encoded := encode(t, m.done(), pprof.EncodeOptions{})[0]
	assert.ElementsMatch(t, []string{"timeout=5", "key=5"}, encoded.parsed.Comments)
	assert.Equal(t, 1, encoded.Lost.Attributes, "of an attribute that becomes a comment")
}

// TestAttributesOfTheWire checks details that google/pprof does not expose.
func TestAttributesOfTheWire(t *testing.T) {
	m := newMessage()
	p := m.profile("cpu/ns")
	m.sample(p, m.stack("f"), []int64{1}, m.attribute("", "no key", ""), m.attribute("zero", 0, ""), m.attribute("none", "", ""))
	wire := readWire(t, encode(t, m.done(), pprof.EncodeOptions{})[0].Pprof)
	text := func(i uint32) string { return string(wire.String(i)) }
	require.Len(t, wire.Labels, 3)
	assert.Zero(t, wire.Labels[0].Key)
	assert.Equal(t, "no key", text(wire.Labels[0].Str))
	assert.Equal(t, "zero", text(wire.Labels[1].Key))
	assert.Zero(t, wire.Labels[1].Str)
	assert.Equal(t, "none", text(wire.Labels[2].Key))
	assert.NotZero(t, wire.Labels[2].Str, "an empty text is a text")
	assert.Empty(t, text(wire.Labels[2].Str))
}

// TestLinksToLabels: a link becomes two labels with configurable names, unless attributes of the sample already have it.
func TestLinksToLabels(t *testing.T) {
	link := dictionary.Link{TraceID: pcommon.TraceID{0: 0x4b, 15: 0x36}, SpanID: pcommon.SpanID{0: 0xf0, 7: 0xb7}}
	const traceText, spanText, spanDecimal = "4b000000000000000000000000000036", "f0000000000000b7", "17293822569102704823"
	type pair struct {
		key   string
		value any
	}
	for name, test := range map[string]struct {
		link       dictionary.Link
		names      pprof.LinkLabels
		all        bool
		attributes []pair
		want       string
	}{
		"link":         {link: link, want: ` span_id=["` + spanText + `"] trace_id=["` + traceText + `"]`},
		"trace alone":  {link: dictionary.Link{TraceID: link.TraceID}, want: ` trace_id=["` + traceText + `"]`},
		"span alone":   {link: dictionary.Link{SpanID: link.SpanID}, want: ` span_id=["` + spanText + `"]`},
		"none":         {},
		"no span":      {link: link, names: pprof.LinkLabels{Trace: "t"}, want: ` t=["` + traceText + `"]`},
		"other names":  {link: link, names: pprof.LinkLabels{Trace: "t", Span: "s"}, want: ` s=["` + spanText + `"] t=["` + traceText + `"]`},
		"said already": {link: link, attributes: []pair{{"trace_id", "0x" + traceText}, {"span_id", spanText}}, want: ` span_id=["` + spanText + `"] trace_id=["0x` + traceText + `"]`},
		"said by Datadog, text": {
			link: link, attributes: []pair{{"trace id", traceText}, {"span id", spanDecimal}},
			want: ` span id=["` + spanDecimal + `"] trace id=["` + traceText + `"]`,
		},
		"said by Datadog, number": {
			link: link, attributes: []pair{{"trace id", traceText}, {"span id", int64(-1152921504606846793)}},
			want: ` trace id=["` + traceText + `"] span id=[-1152921504606846793]`,
		},
		"said as a number": {
			link: dictionary.Link{TraceID: pcommon.TraceID{15: 5}}, attributes: []pair{{"trace_id", 5}},
			want: ` trace_id=[5]`,
		},
		"said by Polar Signals": {
			link: dictionary.Link{TraceID: link.TraceID}, attributes: []pair{{"otel.traceid", traceText}},
			want: ` otel.traceid=["` + traceText + `"]`,
		},
		"another link": {
			link: link, attributes: []pair{{"trace id", traceText}, {"span id", "1"}},
			want: ` span id=["1"] span_id=["` + spanText + `"] trace id=["` + traceText + `"] trace_id=["` + traceText + `"]`,
		},
		"the trace alone is said": {
			link: link, attributes: []pair{{"otel.traceid", traceText}},
			want: ` otel.traceid=["` + traceText + `"] span_id=["` + spanText + `"] trace_id=["` + traceText + `"]`,
		},
		"said under other names": {
			link: link, names: pprof.LinkLabels{Trace: "t", Span: "s"}, attributes: []pair{{"t", traceText}, {"s", spanText}},
			want: ` s=["` + spanText + `"] t=["` + traceText + `"]`,
		},
		"the same label": {
			link: link, attributes: []pair{{"trace_id", traceText}},
			want: ` span_id=["` + spanText + `"] trace_id=["` + traceText + `"]`,
		},
		"all, other names": {
			link: link, all: true, attributes: []pair{{"t", traceText}, {"s", spanText}},
			want: ` s=["` + spanText + `"] span_id=["` + spanText + `"] t=["` + traceText + `"] trace_id=["` + traceText + `"]`,
		},
		"all, another form": {
			link: link, all: true, attributes: []pair{{"trace_id", "0x" + traceText}, {"span_id", spanText}},
			want: ` span_id=["` + spanText + `"] trace_id=["0x` + traceText + `" "` + traceText + `"]`,
		},
		"all, the same labels": {
			link: link, all: true, attributes: []pair{{"trace_id", traceText}, {"span_id", spanText}},
			want: ` span_id=["` + spanText + `"] trace_id=["` + traceText + `"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			var attributes []int32
			for _, a := range test.attributes {
				attributes = append(attributes, m.attribute(a.key, a.value, ""))
			}
			m.sample(m.profile("cpu/ns"), m.stack("f"), []int64{1}, attributes...).SetLinkIndex(m.dict.Link(test.link))
			all := encode(t, m.done(), pprof.EncodeOptions{LinkLabels: test.names, AllLinkLabels: test.all})
			assert.Equal(t, []string{"f [1]" + test.want}, all[0].samples())
		})
	}
}

// TestLabelsOfSeveralGroups: each pprof has its own string table.
func TestLabelsOfSeveralGroups(t *testing.T) {
	m := newMessage()
	x, y := m.attribute("x", "1", ""), m.attribute("y", []any{"a", 1}, "bytes")
	for i := range 3 {
		p := m.profile("cpu/ns")
		p.SetTime(pcommon.Timestamp(i + 1))
		if i == 1 {
			m.sample(p, m.stack("other"), []int64{1}, y)
		}
		m.sample(p, m.stack("f"), []int64{1}, x, y)
	}
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 3)
	const both = `f [1] x=["1"] y=["a"] y=[1] ["bytes"]`
	assert.Equal(t, []string{both}, all[0].samples())
	assert.Equal(t, []string{`other [1] y=["a"] y=[1] ["bytes"]`, both}, all[1].samples())
	assert.Equal(t, []string{both}, all[2].samples())
}
