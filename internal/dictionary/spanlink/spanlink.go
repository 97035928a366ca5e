// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanlink parses trace ids and span ids in the forms that profilers write, and names their labels.
package spanlink // import "github.com/otelpprof/otelpprof/internal/dictionary/spanlink"

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

const (
	traceDigits = 2 * len(pcommon.TraceID{})
	spanDigits  = 2 * len(pcommon.SpanID{})
)

// Canonical reports whether both ids have the form that this project writes: lower-case hex of full length. Only then can
// the labels be restored from the link.
func Canonical(trace, span string) bool {
	return len(trace) == traceDigits && len(span) == spanDigits && isLowerHex(trace) && isLowerHex(span)
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Parse parses a trace id and a span id. They are hex digits of either case, with or without padding and 0x, or decimal
// numbers. ok is false if there is no link: the trace id is missing, zero or invalid. An invalid span id counts as
// missing.
func Parse(trace, span string, decimal bool) (link dictionary.Link, ok bool) {
	if !parseID(link.TraceID[:], trace, decimal) || link.TraceID.IsEmpty() {
		return dictionary.Link{}, false
	}
	if !parseID(link.SpanID[:], span, decimal) {
		link.SpanID = pcommon.SpanID{}
	}
	return link, true
}

// Is reports whether a text is this trace id or span id, as hex digits or, where ids can be decimal, as a decimal number.
func Is[T string | []byte](id []byte, text T, decimal bool) bool {
	var buffer [len(pcommon.TraceID{})]byte
	parsed := buffer[:len(id)]
	return parseID(parsed, text, false) && bytes.Equal(parsed, id) ||
		decimal && parseDecimal(parsed, text) && bytes.Equal(parsed, id)
}

// IsNumber reports whether a number is this trace id or span id.
func IsNumber(id []byte, number uint64) bool {
	low := len(id) - 8
	return binary.BigEndian.Uint64(id[low:]) == number && len(bytes.TrimLeft(id[:low], "\x00")) == 0
}

// IsValue reports whether the value of an attribute is this trace id or span id, in any form that the translators read.
func IsValue(id []byte, a dictionary.Attribute) bool {
	switch a.Kind {
	case pcommon.ValueTypeStr:
		return Is(id, a.Text, true)
	case pcommon.ValueTypeInt:
		return IsNumber(id, a.Number)
	default:
		return false
	}
}

// parseID parses an id into id, big-endian and right-aligned. A trace id of full length is hex even where ids are
// decimal.
func parseID[T string | []byte](id []byte, s T, decimal bool) bool {
	if decimal && len(s) != traceDigits {
		return parseDecimal(id, s)
	}
	if len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s = s[2:]
	}
	if len(s) == 0 || len(s) > 2*len(id) {
		return false
	}
	clear(id)
	at := 2*len(id) - len(s)
	for i := range len(s) {
		digit := hexDigits[s[i]]
		if digit == noDigit {
			return false
		}
		id[(at+i)/2] |= digit << (4 * ((at + i + 1) & 1))
	}
	return true
}

const noDigit = 0xff

// hexDigits maps each byte to the value of the hex digit, or to noDigit.
var hexDigits = func() (table [256]byte) {
	for i := range table {
		table[i] = noDigit
	}
	for i := range byte(10) {
		table['0'+i] = i
	}
	for i := range byte(6) {
		table['a'+i], table['A'+i] = 10+i, 10+i
	}
	return table
}()

// parseDecimal parses a decimal number of at most 128 bits into id, big-endian and right-aligned.
func parseDecimal[T string | []byte](id []byte, s T) bool {
	if len(s) == 0 || len(s) > 39 {
		return false
	}
	var high, low uint64
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return false
		}
		carry, product := bits.Mul64(low, 10)
		sum, overflow := bits.Add64(product, uint64(c-'0'), 0)
		overHigh, productHigh := bits.Mul64(high, 10)
		sumHigh, overSum := bits.Add64(productHigh, carry, overflow)
		if overHigh != 0 || overSum != 0 {
			return false
		}
		high, low = sumHigh, sum
	}
	if len(id) == 8 && high != 0 {
		return false
	}
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = byte(low)
		low = low>>8 | high<<56
		high >>= 8
	}
	return true
}

// Labels are the names of the two labels that link a sample to a span. Span can be empty: then the trace alone makes the
// link.
type Labels struct {
	Trace string `mapstructure:"trace"`
	Span  string `mapstructure:"span"`
	// Decimal says that ids are decimal numbers, unless a trace id has 32 digits: then it is hexadecimal.
	Decimal bool `mapstructure:"decimal"`
}

// CanonicalLabels returns the labels that this project writes. With ids in the canonical form, see [Canonical], a link
// needs no attributes to restore them.
func CanonicalLabels() Labels { return Labels{Trace: "trace_id", Span: "span_id"} }

// FreeKey returns key with the first number from 2 on, such as trace_id.2, that is not taken. It is the key of an id that differs from the
// id in the link of the sample: in a pprof, the link has the labels trace_id and span_id, and a decoder makes no link of two values.
func FreeKey(key string, taken func(string) bool) string {
	for n := 2; ; n++ {
		if free := key + "." + strconv.Itoa(n); !taken(free) {
			return free
		}
	}
}

// DefaultLabels returns the labels of Splunk and the Grafana SDKs, of Datadog, and of Polar Signals, in this order.
func DefaultLabels() []Labels {
	return []Labels{
		CanonicalLabels(),
		{Trace: "trace id", Span: "span id", Decimal: true},
		{Trace: "otel.traceid"},
	}
}
