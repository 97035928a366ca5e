// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

const (
	// objectBytes is the size of the largest message that an object can be, a span, with its pointer in a list.
	objectBytes = 224 + growthCopies*dictionary.PointerSize
	// entryBytes is the size of a list entry that is not an object. The largest is a string.
	entryBytes = growthCopies * dictionary.StringSize
	// escapedCopies is how many copies of a string with escapes exist while the parser resolves them.
	escapedCopies = 4
	// A text or number of more than longNumber bytes may be where pdata wants a number. The error quotes it, and the answer has the error. A
	// character can become four and then five. quotedCopies is how many bytes exist then for each.
	longNumber   = 1 << 10
	quotedCopies = 14
	// maxBrackets limits nested brackets. A level of an attribute value has up to 4: the object, its list, the entry, its
	// value. Up to 16 are around the value.
	maxBrackets = 16 + 4*(attributevalue.MaxDepth+1)
)

// CountJSON returns an upper bound for the bytes that the JSON body of a request needs after unmarshalling, without body
// itself. It counts every object as the largest possible message. The error is [ErrTooDeep], or [ErrMalformed] if body is not
// UTF-8: the Collector's receiver cannot write such text into its answer. CountJSON does not check whether body is valid JSON.
func CountJSON(body []byte) (int64, error) {
	if !utf8.Valid(body) {
		return 0, fmt.Errorf("%w: byte %d is not UTF-8", ErrMalformed, firstInvalid(body))
	}
	var (
		total   = int64(requestBytes)
		isLevel [maxBrackets + 1]bool // whether an open bracket is that of a list or map of an attribute value
		opens   bool                  // whether the next bracket is
		isText  bool                  // whether the values of the last key are texts in every message
		last    []byte                // the last string
		from    int                   // the end of the last token that is no number
		depth   int
		nesting int
	)
	for pos := 0; pos < len(body); pos++ {
		switch body[pos] {
		case '"':
			length, escaped := stringAt(body[pos+1:])
			if escaped {
				total += escapedCopies * int64(length)
			}
			total += textBytes(length)
			if !isText {
				total += quotedBytes(length)
			}
			last = body[pos+1 : pos+1+length]
			opens = isNestingKey(last)
			pos += length + 1
		case ':':
			isText = isTextKey(last)
		case '{', '[':
			if depth++; depth > maxBrackets {
				return 0, ErrTooDeep
			}
			if isLevel[depth] = opens; opens {
				nesting++
			}
			if nesting > attributevalue.MaxDepth {
				return 0, ErrTooDeep
			}
			opens = false
			total += objectBytes
		case '}', ']':
			total += quotedBytes(pos - from)
			if depth == 0 {
				break // The body is not valid.
			}
			if isLevel[depth] {
				nesting--
			}
			depth--
		case ',':
			opens = false
			total += entryBytes + quotedBytes(pos-from)
		default:
			continue
		}
		from = pos
	}
	return total, nil
}

// quotedBytes returns the memory for the error about a text or number of this length.
func quotedBytes(length int) int64 {
	if length <= longNumber {
		return 0
	}
	return quotedCopies * int64(length)
}

// isTextKey reports whether a key is one of long texts. All others are few, or short.
func isTextKey(key []byte) bool {
	switch string(key) {
	case "stringValue", "string_value", "bytesValue", "bytes_value", "stringTable", "string_table", "originalPayload", "original_payload",
		"key", "name", "description", "message":
		return true
	default:
		return false
	}
}

// firstInvalid returns the position of the first byte that is not UTF-8.
func firstInvalid(b []byte) (pos int) {
	for pos < len(b) {
		r, size := utf8.DecodeRune(b[pos:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		pos += size
	}
	return pos
}

// isNestingKey reports whether a key is that of a list or map in an attribute value.
func isNestingKey(key []byte) bool {
	switch string(key) {
	case "arrayValue", "array_value", "kvlistValue", "kvlist_value":
		return true
	default:
		return false
	}
}

// stringAt returns the length of the string at the start of b, up to its closing quotation mark or the end of b.
func stringAt(b []byte) (length int, escaped bool) {
	quote := -1 // the next quotation mark that is known
	for length < len(b) {
		if quote < length {
			i := bytes.IndexByte(b[length:], '"')
			if i < 0 {
				return len(b), true
			}
			quote = length + i
		}
		backslash := bytes.IndexByte(b[length:quote], '\\')
		if backslash < 0 {
			return quote, escaped
		}
		escaped = true
		length = min(length+backslash+2, len(b))
	}
	return length, escaped
}
