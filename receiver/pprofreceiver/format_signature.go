// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/translator/text"
)

// hasSemicolon reports whether a payload can be collapsed stacks: one of the first ones has two frames.
func hasSemicolon(begin []byte) bool { return isText(begin) && bytes.IndexByte(begin, ';') >= 0 }

// isSpeedscope recognizes a file by its schema, or by its frames.
func isSpeedscope(begin []byte) bool {
	return bytes.HasPrefix(jsonField(begin, "$schema"), []byte(`"https://www.speedscope.app/file-format-schema.json"`)) ||
		jsonField(jsonField(begin, "shared"), "frames") != nil
}

// isCPUProfile recognizes a file by its first node, or by the times between samples.
func isCPUProfile(begin []byte) bool {
	return jsonField(jsonFirst(jsonField(begin, "nodes")), "callFrame") != nil || jsonField(begin, "timeDeltas") != nil
}

// isText reports whether these are the first bytes of a text.
func isText(begin []byte) bool {
	for at := 0; at < len(begin); {
		r, size := utf8.DecodeRune(begin[at:])
		isControl := r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if isControl || r == utf8.RuneError && size == 1 && utf8.FullRune(begin[at:]) {
			return false
		}
		at += size
	}
	return true
}

// jsonField returns the text from the value of a field on, or nil if the text does not begin with an object that has this field. The
// object may end after the text.
func jsonField(object []byte, name string) (value []byte) {
	s := jsonscan.Scanner{Text: object, Malformed: text.ErrMalformed}
	_ = s.Object(func(key []byte) error {
		if s.Peek(); string(key) == name {
			value = object[s.At:]
		}
		return s.Skip()
	})
	return value
}

// jsonFirst returns the text from the first item of an array on, or nil.
func jsonFirst(array []byte) []byte {
	items, isArray := bytes.CutPrefix(bytes.TrimLeft(array, " \t\r\n"), []byte("["))
	if !isArray {
		return nil
	}
	return items
}
