// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"bytes"
	"fmt"
)

const (
	// objectBytes is what the largest message takes that an object can be, a span, with its place in a list.
	objectBytes = 224 + slots*pointerBytes
	// entryBytes is what an entry of a list takes that is no object: a string.
	entryBytes = slots * stringBytes
	// escapedCopies is how often a string with escapes is there while it is put together.
	escapedCopies = 4
	// jsonLevel is how many brackets one level of nested values is: an object, its list, an entry of it, its value.
	jsonLevel = 4
	// jsonOutside is how many brackets there are around an attribute value at most.
	jsonOutside = 16
)

// CountJSON returns how many bytes the JSON body of a request takes at most after unmarshalling, without body itself. It
// takes every object for the largest message there is. The error is [ErrTooDeep], for brackets that are nested deeper than
// those around values of maxNesting levels. Whether body is JSON is left to its reader.
func CountJSON(body []byte, maxNesting int) (int64, error) {
	total, depth, most := int64(requestBytes), 0, jsonOutside+jsonLevel*maxNesting
	for pos := 0; pos < len(body); pos++ {
		switch body[pos] {
		case '"':
			length, escaped := stringAt(body[pos+1:])
			if escaped {
				total += escapedCopies * int64(length)
			}
			total += textBytes(length)
			pos += length + 1
		case '{', '[':
			if depth++; depth > most {
				return 0, fmt.Errorf("%w: more than %d brackets, %d levels", ErrTooDeep, most, maxNesting)
			}
			total += objectBytes
		case '}', ']':
			depth--
		case ',':
			total += entryBytes
		}
	}
	return total, nil
}

// stringAt returns the length of the string at the begin of b, up to its quotation mark, or that of b.
func stringAt(b []byte) (length int, escaped bool) {
	for length < len(b) {
		i := bytes.IndexByte(b[length:], '"')
		if i < 0 {
			return len(b), true
		}
		backslash := bytes.IndexByte(b[length:length+i], '\\')
		if backslash < 0 {
			return length + i, escaped
		}
		escaped = true
		length = min(length+backslash+2, len(b))
	}
	return length, escaped
}
