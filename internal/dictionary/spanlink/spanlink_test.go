// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlink

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	trace = "0af7651916cd43dd8448eb211c80319c"
	span  = "b7ad6b7169203331"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name        string
		trace, span string
		decimal     bool
		wantTrace   string
		wantSpan    string
	}{
		{name: "canonical", trace: trace, span: span, wantTrace: trace, wantSpan: span},
		{name: "upper case", trace: strings.ToUpper(trace), span: strings.ToUpper(span), wantTrace: trace, wantSpan: span},
		{name: "with 0x", trace: "0x" + trace, span: "0X" + span, wantTrace: trace, wantSpan: span},
		{name: "unpadded", trace: trace[1:], span: "7", wantTrace: "0" + trace[1:], wantSpan: "0000000000000007"},
		{name: "no span", trace: trace, wantTrace: trace, wantSpan: "0000000000000000"},
		{name: "zero span", trace: trace, span: "0000000000000000", wantTrace: trace, wantSpan: "0000000000000000"},
		{name: "span is no id", trace: trace, span: "main", wantTrace: trace, wantSpan: "0000000000000000"},
		{name: "span too long", trace: trace, span: span + "0", wantTrace: trace, wantSpan: "0000000000000000"},
		{name: "decimal", trace: "255", span: "18446744073709551615", decimal: true, wantTrace: strings.Repeat("0", 30) + "ff", wantSpan: "ffffffffffffffff"},
		{name: "decimal of 128 bits", trace: "340282366920938463463374607431768211455", span: "1", decimal: true, wantTrace: strings.Repeat("f", 32), wantSpan: "0000000000000001"},
		{name: "a trace of 32 digits is hex", trace: trace, span: "16", decimal: true, wantTrace: trace, wantSpan: "0000000000000010"},
		{name: "a decimal span of 65 bits is no id", trace: "1", span: "18446744073709551616", decimal: true, wantTrace: strings.Repeat("0", 31) + "1", wantSpan: "0000000000000000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			link, ok := Parse(test.trace, test.span, test.decimal)
			assert.True(t, ok)
			assert.Equal(t, test.wantTrace, hexOf(link.TraceID[:]))
			assert.Equal(t, test.wantSpan, hexOf(link.SpanID[:]))
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, trace := range []string{
		"", "0x", "00000000000000000000000000000000", "0", "xyz", trace + "0", "-1", "0x0xab",
	} {
		_, ok := Parse(trace, span, false)
		assert.False(t, ok, trace)
	}
	for _, trace := range []string{"", "0", "12a", "340282366920938463463374607431768211456"} {
		_, ok := Parse(trace, "1", true)
		assert.False(t, ok, trace)
	}
}

func TestCanonical(t *testing.T) {
	assert.True(t, Canonical(trace, span))
	assert.False(t, Canonical(trace, ""))
	assert.False(t, Canonical(trace[1:], span))
	assert.False(t, Canonical(strings.ToUpper(trace), span))
	assert.False(t, Canonical(trace, "B7AD6B7169203331"))
	assert.False(t, Canonical(trace[1:]+"g", span))
}

func TestIs(t *testing.T) {
	const hexSpan, decimalSpan = "00f067aa0ba902b7", "67667974448284343"
	link, ok := Parse(trace, hexSpan, false)
	require.True(t, ok)
	for _, decimal := range []bool{false, true} {
		for _, text := range []string{trace, "0x" + trace, strings.ToUpper(trace), trace[1:]} {
			assert.True(t, Is(link.TraceID[:], text, decimal), text)
			assert.True(t, Is(link.TraceID[:], []byte(text), decimal), text)
		}
		for _, text := range []string{hexSpan, "f067aa0ba902b7"} {
			assert.True(t, Is(link.SpanID[:], text, decimal), text)
			assert.False(t, Is(link.TraceID[:], text, decimal), text)
		}
		for _, text := range []string{"", "0", "0x", "main", trace + "0", trace[1:] + "g", decimalSpan + "0"} {
			assert.False(t, Is(link.TraceID[:], text, decimal), text)
			assert.False(t, Is(link.SpanID[:], text, decimal), text)
		}
		assert.Equal(t, decimal, Is(link.SpanID[:], decimalSpan, decimal))
	}
}

func TestIsNumber(t *testing.T) {
	low, ok := Parse("ff", "10", false)
	require.True(t, ok)
	assert.True(t, IsNumber(low.TraceID[:], 255))
	assert.True(t, IsNumber(low.SpanID[:], 16))
	assert.False(t, IsNumber(low.SpanID[:], 10))
	long, ok := Parse("1"+strings.Repeat("0", 14)+"ff", "", false)
	require.True(t, ok)
	assert.False(t, IsNumber(long.TraceID[:], 255), "the upper half counts")
}

func TestParseTakesNoMemory(t *testing.T) {
	raw, rawSpan := []byte(trace), []byte(span)
	assert.Zero(t, testing.AllocsPerRun(100, func() { Parse(string(raw), string(rawSpan), false) }))
	link, _ := Parse(trace, span, false)
	assert.Zero(t, testing.AllocsPerRun(100, func() { Is(link.TraceID[:], raw, true) }))
}

func hexOf(id []byte) string {
	const digits = "0123456789abcdef"
	text := make([]byte, 0, 2*len(id))
	for _, b := range id {
		text = append(text, digits[b>>4], digits[b&15])
	}
	return string(text)
}
