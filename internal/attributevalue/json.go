// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// appendDouble appends a number in the format of JavaScript, or the name of one that is not finite.
func appendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, notFinite(f)...)
	}
	if size := math.Abs(f); size == 0 || 1e-6 <= size && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-3] == '-' && dst[n-2] == '0' { // 1e-7, not 1e-07
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// notFinite returns the name of a number that JSON does not have.
func notFinite(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return "NaN"
	}
}

// quoted writes a JSON string, with the escapes of encoding/json, but without those for HTML. It reads only as much of the
// string as fits.
func (w *writer) quoted(s string) {
	if remaining := w.remaining(); len(s)-utf8.UTFMax > remaining {
		s = s[:remaining+utf8.UTFMax]
	}
	w.out = append(w.out, '"')
	plain := 0
	for i, size := 0, 0; i < len(s); i += size {
		size = 1
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			continue
		}
		r := rune(c)
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			invalid := r == utf8.RuneError && size == 1
			if !invalid && r != '\u2028' && r != '\u2029' {
				continue
			}
		}
		w.out = append(w.out, s[plain:i]...)
		w.out = appendEscape(w.out, r)
		plain = i + size
	}
	w.out = append(append(w.out, s[plain:]...), '"')
}

// appendEscape appends the escaped form of a character below U+10000.
func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
