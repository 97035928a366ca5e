// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// textAttribute is a key in the dictionary, and an attribute plus one.
type textAttribute struct{ key, attribute int32 }

// textKey is a key in the dictionary and a string of the payload.
type textKey struct {
	key  int32
	text uint32
}

// longText is the length above which a text is found by its index, not by its content: a small payload can repeat it
// often.
const longText = 256

// textAttribute returns the attribute with this key and string i of the payload.
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
	if !t.reserveAttribute(len(text), 0, long) {
		return 0
	}
	before := t.dict.NumAttributes()
	attribute := t.dict.StringBytesAttribute(key, 0, text)
	t.countAttribute(before, len(text), 0, long)
	*last = textAttribute{key, attribute + 1}
	if long {
		if t.longTexts == nil {
			t.longTexts = map[textKey]int32{}
		}
		t.longTexts[textKey{key, i}] = attribute
	}
	return attribute
}

// reserveAttribute reports whether an attribute with a text of this length, and items of so many bytes, can be added. A long text
// counts toward the limit even if its attribute exists, since comparing it takes time.
func (t *decoding) reserveAttribute(text int, items int64, long bool) bool {
	if long {
		t.countText(text)
	}
	return t.meter.Need(attributeBytes(text)+items) == nil
}

// attributeBytes is the memory of an attribute with a text of this length.
func attributeBytes(text int) int64 { return dictionary.AttributeBytes + 2*int64(text) + longTextBytes }

// longTextBytes is the memory of an entry of longTexts.
const longTextBytes = 64

// countAttribute counts the memory of the last attribute if it is new.
func (t *decoding) countAttribute(before, text int, items int64, long bool) {
	if t.dict.NumAttributes() == before {
		return
	}
	_ = t.meter.Use(attributeBytes(text) + items) // It is reserved already.
	t.message += items
	if !long {
		t.countText(text)
	}
}

// countText counts text in attributes. The limit is the one of the decompressed payload: a string can be the value of
// many keys.
func (t *decoding) countText(bytes int) {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) {
		t.meter.Fail(pprofwire.TooLarge("bytes of text in attributes", int(t.textBytes), limit))
	}
}

// name returns string i of the payload as a Go string, which does not refer to memory of the payload.
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

// countLongTexts counts long strings that must be compared as a whole, each time.
func (t *decoding) countLongTexts(strings ...uint32) {
	for _, i := range strings {
		if n := len(t.wire.String(i)); n > longText {
			t.countText(n)
		}
	}
}
