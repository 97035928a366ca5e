// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// AddText adds the attribute with this key and string i of the payload.
func (t *decoding) AddText(key int32, i uint32) (attribute int32, added bool) {
	text, long := t.Text(i), len(t.wire.String(i)) > tables.LongText
	attribute = t.addAttribute(len(text), 0, long, func() int32 { return t.dict.StringBytesAttribute(key, text) })
	return attribute, t.meter.Err() == nil
}

// addAttribute calls add if there is memory for an attribute with a text of this length, and items of so many bytes. A long text counts
// toward the limit even if its attribute exists, since comparing it takes time.
func (t *decoding) addAttribute(text int, items int64, long bool, add func() int32) int32 {
	if long {
		t.countText(text)
	}
	bytes := attributeBytes(text) + items
	if t.meter.Need(bytes) != nil {
		return 0
	}
	before := t.dict.NumAttributes()
	attribute := add()
	if t.dict.NumAttributes() == before {
		_ = t.meter.Use(items) // They are garbage.
		return attribute
	}
	_ = t.meter.Use(bytes)
	t.message += items
	if !long {
		t.countText(text)
	}
	return attribute
}

// attributeBytes is the memory of an attribute with a text of this length.
func attributeBytes(text int) int64 {
	return dictionary.AttributeBytes + 2*int64(text) + tables.LongTextBytes
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
	name := string(t.Text(i))
	scratch.Store(&t.names, i, name)
	return name
}

// countLongTexts counts long strings that must be compared as a whole, each time.
func (t *decoding) countLongTexts(strings ...uint32) {
	for _, i := range strings {
		if n := len(t.wire.String(i)); n > tables.LongText {
			t.countText(n)
		}
	}
}
