// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// labelWriter converts the attributes and the link of samples to labels. It stores the labels of an attribute for other
// samples that have it.
type labelWriter struct {
	t *encoding
	// encoded has the labels of the attributes that have numbers, in their ranges.
	encoded []byte
	numbers numbering
	ranges  []byteRange
	sample  []byte
	// lostUnits counts the attributes whose unit is lost: in pprof, only numbers have one. hasNumber is true if a label of the
	// current attribute is a number.
	lostUnits int
	hasNumber bool
	// items counts the items of the arrays in the pprof.
	items        int
	itemsLargest int
}

// size returns the number of bytes of the labels of these attributes.
func (w *labelWriter) size(attributes []int32) (bytes int, err error) {
	for _, a := range attributes {
		number := w.numbers.find(a)
		if number == 0 {
			if err := w.encode(a); err != nil {
				return 0, err
			}
			number = w.numbers.local(a)
		}
		bytes += w.ranges[number-1].bytes()
	}
	return bytes, nil
}

// encode encodes the labels of an attribute, and appends their range.
func (w *labelWriter) encode(a int32) error {
	attribute := w.t.dict.AttributeAt(a)
	if err := w.countItems(attribute); err != nil {
		return err
	}
	start := len(w.encoded)
	w.hasNumber = false
	if err := w.appendAttribute(a, attribute); err != nil {
		return err
	}
	if attribute.Unit != 0 && !w.hasNumber {
		w.lostUnits++
	}
	w.ranges = append(w.ranges, byteRange{uint32(start), uint32(len(w.encoded))})
	return nil
}

// byteRange is a range of bytes that are written once for a pprof and reused.
type byteRange struct{ start, end uint32 }

func (r byteRange) bytes() int { return int(r.end - r.start) }

// countItems counts the memory for the texts of the items of an array.
func (w *labelWriter) countItems(a dictionary.Attribute) error {
	if a.Kind != pcommon.ValueTypeSlice {
		return nil
	}
	w.items += a.Value.Slice().Len()
	return w.t.memory.growTo(&w.itemsLargest, itemMemory*w.items)
}

const (
	// maxLabelBytes is the most bytes that a label with a string needs.
	maxLabelBytes = 2 + 6 + 6
	// maxNumLabelBytes is the most bytes that a label with a number needs.
	maxNumLabelBytes = 2 + 6 + 11 + 6
	// maxLinkBytes is the most bytes that a link needs: two labels and their strings.
	maxLinkBytes = 2*maxLabelBytes + 2 + 32 + 2 + 16
)

// write returns the labels of a sample. size must have been called for its attributes. The result is valid until the next
// call.
func (w *labelWriter) write(link int32, attributes []int32) []byte {
	w.sample = w.sample[:0]
	for _, a := range attributes {
		at := w.ranges[w.numbers.find(a)-1]
		w.sample = append(w.sample, w.encoded[at.start:at.end]...)
	}
	if link != 0 {
		w.appendLink(w.t.dict.LinkAt(link), attributes)
	}
	return w.sample
}

// appendLink appends a link as two labels, unless attributes of the sample have the same link.
func (w *labelWriter) appendLink(link dictionary.Link, attributes []int32) {
	if !w.t.opts.AllLinkLabels && w.hasLink(link, attributes) {
		return
	}
	names := w.t.opts.LinkLabels
	if !link.TraceID.IsEmpty() {
		w.appendID(names.Trace, link.TraceID.String(), attributes)
	}
	if names.Span != "" && !link.SpanID.IsEmpty() {
		w.appendID(names.Span, link.SpanID.String(), attributes)
	}
}

// appendID appends the label of an id, unless an attribute has become the same label: a decoder makes no link of a label that a
// sample has twice.
func (w *labelWriter) appendID(key, id string, attributes []int32) {
	for _, a := range attributes {
		attribute := w.t.dict.AttributeAt(a)
		if attribute.Kind == pcommon.ValueTypeStr && attribute.Text == id && w.t.dict.StringAt(attribute.Key) == key {
			return
		}
	}
	w.sample = pprofwire.AppendLabel(w.sample, pprofwire.Label{Key: w.t.localText(key), Str: w.t.localText(id)})
}

// hasLink reports whether the values of attributes are the ids of the link, whatever their names are: a decoder can make
// links from labels of any names.
func (w *labelWriter) hasLink(link dictionary.Link, attributes []int32) bool {
	hasTrace, hasSpan := link.TraceID.IsEmpty(), link.SpanID.IsEmpty()
	for _, a := range attributes {
		attribute := w.t.dict.AttributeAt(a)
		hasTrace = hasTrace || spanlink.IsValue(link.TraceID[:], attribute)
		hasSpan = hasSpan || spanlink.IsValue(link.SpanID[:], attribute)
	}
	return hasTrace && hasSpan
}

// key returns the label key of an attribute.
func (w *labelWriter) key(a dictionary.Attribute) uint32 {
	if w.t.scope.threads {
		switch key := w.t.dict.StringAt(a.Key); {
		case key == semconv.ThreadID && a.Kind == pcommon.ValueTypeInt:
			return w.t.localText(labelThreadID)
		case key == semconv.ThreadName && a.Kind == pcommon.ValueTypeStr:
			return w.t.localText(labelThreadName)
		}
	}
	return w.t.locals.string(a.Key)
}

// appendAttribute appends the labels of an attribute: one for a string or int, one for each item of an array of these,
// and one with the value as text for everything else.
func (w *labelWriter) appendAttribute(index int32, a dictionary.Attribute) error {
	key, unit := w.key(a), w.t.locals.string(a.Unit)
	switch a.Kind {
	case pcommon.ValueTypeInt:
		w.appendNum(key, unit, int64(a.Number))
		return nil
	case pcommon.ValueTypeSlice:
		if isArray, err := w.isLabelArray(index, a.Value.Slice()); err != nil {
			return err
		} else if !isArray {
			break
		}
		for _, item := range a.Value.Slice().All() {
			w.appendItem(key, unit, item)
		}
		return nil
	default:
	}
	text, err := w.t.text(index)
	if err == nil {
		w.appendStr(key, text)
	}
	return err
}

func (w *labelWriter) appendNum(key, unit uint32, value int64) {
	w.hasNumber = true
	w.encoded = pprofwire.AppendLabel(w.encoded, pprofwire.Label{Key: key, Num: value, NumUnit: unit})
}

func (w *labelWriter) appendStr(key uint32, value int32) {
	str := w.t.locals.labelString(value)
	w.encoded = pprofwire.AppendLabel(w.encoded, pprofwire.Label{Key: key, Str: str})
}

// appendItem appends one item of an array that isLabelArray accepted.
func (w *labelWriter) appendItem(key, unit uint32, item pcommon.Value) {
	switch item.Type() {
	case pcommon.ValueTypeInt:
		w.appendNum(key, unit, item.Int())
	case pcommon.ValueTypeMap:
		if name, found := item.Map().Get(kvUnit); found {
			unit = w.t.localText(name.Str())
		}
		value, _ := item.Map().Get(kvValue)
		w.appendItem(key, unit, value)
	default:
		w.appendStr(key, w.t.dict.String(item.Str()))
	}
}

// isLabelArray is the function isLabelArray. It reads an array that is none once: many pprofs of a message can have it.
func (w *labelWriter) isLabelArray(index int32, items pcommon.Slice) (bool, error) {
	texts := &w.t.texts
	if texts.lists[index] || isLabelArray(items) {
		return !texts.lists[index], nil
	}
	if err := w.t.memory.grow(textMemory); err != nil {
		return false, err
	}
	scratch.Store(&texts.lists, index, true)
	return false, nil
}

// isLabelArray reports whether an array can have come from several labels of one key: its items are strings or ints, some
// with a unit.
func isLabelArray(items pcommon.Slice) bool {
	for _, item := range items.All() {
		if item.Type() == pcommon.ValueTypeMap {
			value, ok := unitPair(item.Map())
			if !ok {
				return false
			}
			item = value
		}
		if item.Type() != pcommon.ValueTypeStr && item.Type() != pcommon.ValueTypeInt {
			return false
		}
	}
	return items.Len() > 0
}

// unitPair returns the value of a map that has a value, optionally a unit that is a string, and nothing else.
func unitPair(m pcommon.Map) (pcommon.Value, bool) {
	value, found := m.Get(kvValue)
	if !found {
		return value, false
	}
	unit, hasUnit := m.Get(kvUnit)
	if !hasUnit {
		return value, m.Len() == 1
	}
	return value, m.Len() == 2 && unit.Type() == pcommon.ValueTypeStr
}
