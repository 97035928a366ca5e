// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted text safe for a line of a log.
package printable

import (
	"strings"
	"unicode"
)

// Line returns the first limit characters of text. Each white space, such as a line break, becomes a space. Each control
// character, each character that changes the direction of text, and each byte that is not UTF-8 becomes U+FFFD.
func Line(text string, limit int) string {
	var line strings.Builder
	for _, r := range text {
		if limit == 0 {
			line.WriteString("…")
			break
		}
		limit--
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r):
			r = unicode.ReplacementChar
		}
		line.WriteRune(r)
	}
	return line.String()
}
