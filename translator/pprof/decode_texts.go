// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// textAttribute is an attribute plus one, and its key in the dictionary.
type textAttribute struct{ key, attribute int32 }

// textKey is a key in the dictionary and a string of the payload.
type textKey struct {
	key  int32
	text uint32
}

// longText is the length from which on a text is not compared again and again: few bytes of payload can repeat it often.
const longText = 256

// textAttribute returns the attribute of a key and string i of the payload.
func (t *decoding) textAttribute(key int32, i uint32) int32 {
	last := &t.texts[i]
	if last.attribute != 0 && last.key == key {
		return last.attribute - 1
	}
	long := len(t.wire.String(i)) > longText
	if long {
		if attribute, known := t.longTexts[textKey{key, i}]; known {
			return attribute
		}
	}
	text := t.text(i)
	if !t.needAttribute(len(text), long) {
		return 0
	}
	before := t.dict.NumAttributes()
	attribute := t.dict.StringBytesAttribute(key, 0, text)
	t.noteAttribute(before, len(text), long)
	*last = textAttribute{key, attribute + 1}
	if long {
		if t.longTexts == nil {
			t.longTexts = map[textKey]int32{}
		}
		t.longTexts[textKey{key, i}] = attribute
	}
	return attribute
}

// needAttribute tells whether there may be another attribute with so much text. Long text counts whether it is new or not,
// since it takes time to find out.
func (t *decoding) needAttribute(text int, long bool) bool {
	if long {
		t.spendText(text)
	}
	t.reserved.need(dictionary.AttributeBytes + 2*int64(text) + longTextBytes)
	return t.reserved.err == nil
}

// longTextBytes is what an entry of longTexts takes.
const longTextBytes = 64

// noteAttribute counts an attribute, if there are more than before.
func (t *decoding) noteAttribute(before, text int, long bool) (added bool) {
	if t.dict.NumAttributes() == before {
		return false
	}
	t.reserved.grown += dictionary.AttributeBytes + 2*int64(text) + longTextBytes
	if !long {
		t.spendText(text)
	}
	return true
}

// spendText counts text in attributes, which is as much as the payload may have after decompression: a string that stands
// there once may be the value of many keys.
func (t *decoding) spendText(bytes int) {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) {
		t.reserved.fail(pprofwire.TooLarge("bytes of text in attributes", int(t.textBytes), limit))
	}
}

// name returns string i of the payload as a string of its own.
func (t *decoding) name(i uint32) string {
	if i == 0 {
		return ""
	}
	if name, known := t.names[i]; known {
		return name
	}
	if t.names == nil {
		t.names = map[uint32]string{}
	}
	t.names[i] = string(t.text(i))
	return t.names[i]
}

// spendLong counts strings that are looked at whole each time, if they are long.
func (t *decoding) spendLong(strings ...uint32) {
	for _, i := range strings {
		if n := len(t.wire.String(i)); n > longText {
			t.spendText(n)
		}
	}
}
