// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "unicode/utf8"

// ValidFactor is the most memory of the result of [ValidText], as a multiple of the text: U+FFFD has three bytes.
const ValidFactor = 3

// ValidText returns text with U+FFFD in place of each run of bytes that are not UTF-8. It allocates only the result. [bytes.ToValidUTF8] also
// allocates buffers that it outgrows.
func ValidText(text []byte) []byte {
	size := 0
	forValid(text, func(part []byte) { size += len(part) })
	valid := make([]byte, 0, size)
	forValid(text, func(part []byte) { valid = append(valid, part...) })
	return valid
}

var replacement = []byte("\uFFFD")

// forValid calls add for each character of text, and once with U+FFFD for each run of bytes that are none.
func forValid(text []byte, add func(part []byte)) {
	inRun := false
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		isInvalid := r == utf8.RuneError && size == 1
		switch {
		case !isInvalid:
			add(text[:size])
		case !inRun:
			add(replacement)
		}
		inRun = isInvalid
		text = text[size:]
	}
}
