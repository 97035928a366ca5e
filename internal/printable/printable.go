// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package printable makes of a stranger's text what may stand in a line of a log.
package printable

import (
	"strings"
	"unicode"
)

// Line returns the beginning of text, at most limit characters of it, with a space for each end of a line and other kind of
// space, and U+FFFD for each character that a terminal obeys, that turns the direction of what is around it, or that is
// not UTF-8.
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
