// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanlink reads the ids of a trace and a span in the forms that profilers write them.
package spanlink // import "github.com/otelpprof/otelpprof/translator/internal/spanlink"

import (
	"math/bits"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

const (
	traceDigits = 2 * len(pcommon.TraceID{})
	spanDigits  = 2 * len(pcommon.SpanID{})
)

// Canonical tells whether both ids are written as this project writes them: lower-case hex of full length. Only then does
// the link say all that the labels say.
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

// Parse reads a trace id and a span id: hex digits of either case, unpadded or with 0x before them, or decimal numbers. ok
// is false when they make no link: the trace id is missing, zero or no id. A span id that is no id counts as missing.
func Parse(trace, span string, decimal bool) (link dictionary.Link, ok bool) {
	if !parseID(link.TraceID[:], trace, decimal) || link.TraceID.IsEmpty() {
		return dictionary.Link{}, false
	}
	if !parseID(link.SpanID[:], span, decimal) {
		link.SpanID = pcommon.SpanID{}
	}
	return link, true
}

// parseID reads an id into all of id, the last digit last. A trace id of full length is hex even where ids are decimal.
func parseID(id []byte, s string, decimal bool) bool {
	if decimal && len(s) != traceDigits {
		return parseDecimal(id, s)
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		s = s[2:]
	}
	if s == "" || len(s) > 2*len(id) {
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

// hexDigits holds the value of each hexadecimal digit, noDigit for all other bytes.
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

// parseDecimal reads a decimal number of at most 128 bits into all of id, big end first.
func parseDecimal(id []byte, s string) bool {
	if s == "" || len(s) > 39 {
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
