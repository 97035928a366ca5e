// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

// textAttribute is the key and the attribute of a text. key is an index of the dictionary, attribute an index plus one.
type textAttribute struct{ key, attribute int32 }

// textKey is a key in the dictionary and a string of the payload.
type textKey struct {
	key  int32
	text uint32
}

// LongText is the length in bytes above which a text is found by its index, not by its content: a small payload can repeat it often.
const LongText = 256

// LongTextBytes is the memory that the attribute of a long text needs in addition to [Bytes].
const LongTextBytes = 64

// TextAttribute returns the index of the attribute with this key and string i of the payload. If [Rules] add none, it returns 0.
func (t *Tables) TextAttribute(key int32, i uint32) int32 {
	if last := t.texts[i]; last.attribute != 0 && last.key == key {
		return last.attribute - 1
	}
	return t.findText(key, i)
}

// findText is TextAttribute for a text that last had another key, or none.
func (t *Tables) findText(key int32, i uint32) int32 {
	long := len(t.wire.String(i)) > LongText
	if long {
		if attribute, known := t.longTexts[textKey{key, i}]; known {
			return attribute
		}
	}
	attribute, added := t.rules.AddText(key, i)
	if !added {
		return 0
	}
	t.texts[i] = textAttribute{key, attribute + 1}
	if long {
		if t.longTexts == nil {
			t.longTexts = map[textKey]int32{}
		}
		t.longTexts[textKey{key, i}] = attribute
	}
	return attribute
}
