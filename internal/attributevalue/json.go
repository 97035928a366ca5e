// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"
)

// appendJSON appends a string or a finite number as JSON, without the escapes for HTML.
func appendJSON[T string | float64](dst []byte, v T) []byte {
	out := bytes.NewBuffer(dst)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // It fails only for numbers that are not finite.
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// appendDouble appends a number, or the name of one that JSON does not have.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	default:
		return appendJSON(dst, f)
	}
}

// quoted writes a string. It reads only as much of it as fits.
func (w *writer) quoted(s string) {
	if remaining := w.remaining(); len(s)-utf8.UTFMax > remaining {
		s = s[:remaining+utf8.UTFMax]
	}
	w.out = appendJSON(w.out, s)
}
