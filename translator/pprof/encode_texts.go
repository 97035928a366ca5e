// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// texts has the texts that pprofs of a message share, as strings of encoding.dict. To make them again for each pprof would cost the size of
// lists, maps and long texts each time, and a few bytes of a message can refer to them.
type texts struct {
	// values has the texts of attributes.
	values map[int32]int32
	// lists has the lists that no sample has as labels.
	lists map[int32]bool
	// comments has the comments that attributes of profiles become.
	comments map[int32][]int32
	// resource has the comments of the attributes of resource number resourceIndex, as many as were needed.
	resource      []int32
	resourceIndex int
	// bytes counts the texts that were made for the current pprof.
	bytes int
}

// textMemory is the memory of a text, without its bytes.
const textMemory = 128

// isShort reports whether the text of an attribute costs little each time.
func isShort(a dictionary.Attribute) bool {
	switch a.Kind {
	case pcommon.ValueTypeStr:
		return len(a.Text) <= tables.LongText
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return false
	default:
		return true
	}
}

// text returns the text of the value of an attribute.
func (t *encoding) text(a int32) (int32, error) {
	attribute := t.dict.AttributeAt(a)
	if isShort(attribute) {
		return t.dict.String(attribute.AsString()), nil
	}
	if text, found := t.texts.values[a]; found {
		return text, nil
	}
	value := attribute.AsString() // has at most 64 KiB, or is that of the attribute
	size := textMemory
	if attribute.Kind != pcommon.ValueTypeStr {
		size += len(value)
	}
	if err := t.memory.grow(size); err != nil {
		return 0, err
	}
	text := t.dict.String(value)
	scratch.Store(&t.texts.values, a, text)
	return text, nil
}

// joinText returns the text of a comment of these parts. Before it makes it, it makes sure that the pprof fits with it, and that there is
// memory.
func (t *encoding) joinText(prefix, key, value string) (int32, error) {
	size := len(prefix) + len(key) + 1 + len(value)
	t.texts.bytes += size
	if err := t.fits(t.joining.size + len(t.tail) + t.texts.bytes); err != nil {
		return 0, err
	}
	if err := t.memory.grow(textMemory + size); err != nil {
		return 0, err
	}
	return t.dict.String(prefix + key + "=" + value), nil
}

// commentsOf returns the comments that an attribute of a profile becomes: the text of a comment, or each item of several, else its key and
// value.
func (t *encoding) commentsOf(a int32) (comments []int32, err error) {
	if comments, found := t.texts.comments[a]; found {
		return comments, nil
	}
	attribute := t.dict.AttributeAt(a)
	key := t.dict.StringAt(attribute.Key)
	if isComment(key) && attribute.Kind == pcommon.ValueTypeSlice {
		comments, err = t.itemTexts(attribute.Value.Slice())
	} else {
		var text int32
		if text, err = t.text(a); err == nil && !isComment(key) {
			text, err = t.joinText("", key, t.dict.StringAt(text))
		}
		comments = []int32{text}
	}
	if err == nil {
		err = t.memory.grow(textMemory)
	}
	if err != nil {
		return nil, err
	}
	scratch.Store(&t.texts.comments, a, comments)
	return comments, nil
}

// itemTexts returns the texts of the items of a list, whose memory [labelWriter.countItems] counts, but for texts that are made.
func (t *encoding) itemTexts(items pcommon.Slice) (texts []int32, err error) {
	for _, item := range items.All() {
		text := attributevalue.Text(item)
		if item.Type() != pcommon.ValueTypeStr {
			if err := t.memory.grow(len(text)); err != nil {
				return nil, err
			}
		}
		texts = append(texts, t.dict.String(text))
	}
	return texts, nil
}

// resourceComments returns the attributes of the current resource as comments.
func (t *encoding) resourceComments(attributes pcommon.Map) ([]int32, error) {
	known := &t.texts
	if known.resourceIndex != t.resourceIndex {
		known.resource, known.resourceIndex = known.resource[:0], t.resourceIndex
	}
	i := 0
	for key, value := range attributes.All() {
		if i++; i <= len(known.resource) {
			continue
		}
		comment, err := t.joinText("resource:", key, attributevalue.Text(value))
		if err != nil {
			return nil, err
		}
		known.resource = append(known.resource, comment)
	}
	return known.resource, nil
}
