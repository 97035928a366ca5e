// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"regexp"
	"slices"
)

// The functions below change a page in place if its capacity allows that, since pages are large and have many replacements.

// replaceFirst replaces the first occurrence of a text. The result can share the memory of the page.
func replaceFirst(page []byte, from, to string) []byte {
	if at := bytes.Index(page, []byte(from)); at >= 0 {
		page = slices.Replace(page, at, at+len(from), []byte(to)...)
	}
	return page
}

// replaceAll replaces all occurrences of a text. The result can share the memory of the page.
func replaceAll(page []byte, from, to string) []byte {
	for begin := 0; ; {
		at := bytes.Index(page[begin:], []byte(from))
		if at < 0 {
			return page
		}
		begin += at
		page = slices.Replace(page, begin, begin+len(from), []byte(to)...)
		begin += len(to)
	}
}

// replaceMatches replaces all matches of an expression by a template, see [regexp.Regexp.Expand].
func replaceMatches(page []byte, from *regexp.Regexp, template string) []byte {
	for _, match := range slices.Backward(from.FindAllSubmatchIndex(page, -1)) {
		page = slices.Replace(page, match[0], match[1], from.Expand(nil, []byte(template), page, match)...)
	}
	return page
}
