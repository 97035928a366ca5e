// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"encoding/hex"
	"math/bits"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

const (
	traceDigits = 2 * len(pcommon.TraceID{})
	spanDigits  = 2 * len(pcommon.SpanID{})
)

// canonical tells whether both ids are written as this project writes them: lower-case hex of full length. Only then does
// the link say all that the labels say.
func canonical(trace, span string) bool {
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

// parseLink reads a trace id and a span id in the forms that labels give them. ok is false when they make no link: the
// trace id is missing, zero or no id. A span id that is no id counts as missing.
func (l LinkLabels) parseLink(trace, span string) (link dictionary.Link, ok bool) {
	if !l.parseID(link.TraceID[:], trace) || link.TraceID.IsEmpty() {
		return dictionary.Link{}, false
	}
	if !l.parseID(link.SpanID[:], span) {
		link.SpanID = pcommon.SpanID{}
	}
	return link, true
}

// parseID reads an id into all of id, the last digit last. Hex digits may be of either case, unpadded, or have 0x before
// them.
func (l LinkLabels) parseID(id []byte, s string) bool {
	if l.Decimal && len(s) != traceDigits {
		return parseDecimal(id, s)
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		s = s[2:]
	}
	if s == "" || len(s) > 2*len(id) {
		return false
	}
	var padded [traceDigits]byte
	digits := padded[:2*len(id)]
	for i := range digits {
		digits[i] = '0'
	}
	copy(digits[len(digits)-len(s):], s)
	_, err := hex.Decode(id, digits)
	return err == nil
}

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
