// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/internal/spanlink"
)

// labelWriter turns the attributes and the link of samples into labels. What an attribute becomes is kept for the
// samples that have it too.
type labelWriter struct {
	t *encoding
	// links are the pairs of labels in which a sample may say its link already, with the indices of their keys.
	links []attributeLink
	// encoded holds labels as written, in the ranges of their attributes.
	encoded []byte
	ranges  byteRanges
	sample  []byte
	// threads tells that thread.id and thread.name were labels of Datadog's.
	threads bool
	// items counts those of the arrays that the pprof has.
	items, itemsTaken int
}

type attributeLink struct {
	names       LinkLabels
	trace, span int32
}

// begin prepares for another message.
func (w *labelWriter) begin(t *encoding) {
	w.t = t
	w.links = w.links[:0]
	for _, names := range append([]LinkLabels{t.opts.LinkLabels}, DefaultLinkLabels()...) {
		w.links = append(w.links, attributeLink{names, t.dict.String(names.Trace), t.dict.String(names.Span)})
	}
}

// beginPayload prepares for another pprof, whose strings have other indices.
func (w *labelWriter) beginPayload(attributes int, scope pcommon.InstrumentationScope) {
	w.encoded, w.items = w.encoded[:0], 0
	threads, found := scope.Attributes().Get(semconv.ScopeThreadLabels)
	w.threads = found && threads.Bool()
	w.ranges.begin(attributes)
}

// size returns the number of bytes that the labels of attributes take.
func (w *labelWriter) size(attributes []int32) (bytes int, err error) {
	for _, a := range attributes {
		at, known := w.ranges.find(a)
		if !known {
			if at, err = w.encode(a); err != nil {
				return 0, err
			}
		}
		bytes += at.bytes()
	}
	return bytes, nil
}

// encode writes the label of an attribute and returns its range.
func (w *labelWriter) encode(a int32) (byteRange, error) {
	attribute := w.t.dict.AttributeAt(a)
	if err := w.takeItems(attribute); err != nil {
		return byteRange{}, err
	}
	start := len(w.encoded)
	w.appendAttribute(attribute)
	return w.ranges.set(a, start, len(w.encoded)), nil
}

// takeItems takes the memory of the texts of an array's items.
func (w *labelWriter) takeItems(a dictionary.Attribute) error {
	if a.Kind != pcommon.ValueTypeSlice {
		return nil
	}
	w.items += a.Value.Slice().Len()
	return w.t.memory.takeUpTo(&w.itemsTaken, itemMemory*w.items)
}

const (
	// maxLabelBytes is the most that a label with a string takes.
	maxLabelBytes = 2 + 6 + 6
	// maxLinkBytes is the most that a link becomes: two labels and their strings.
	maxLinkBytes = 2*maxLabelBytes + 2 + 32 + 2 + 16
)

// write returns the labels of a sample of which size was asked, valid until the next call.
func (w *labelWriter) write(link int32, attributes []int32) []byte {
	w.sample = w.sample[:0]
	for _, a := range attributes {
		at, _ := w.ranges.find(a)
		w.sample = append(w.sample, w.encoded[at.start:at.end]...)
	}
	if link != 0 {
		w.appendLink(w.t.dict.LinkAt(link), attributes)
	}
	return w.sample
}

// appendLink writes a link as two labels, unless the sample's attributes say the same.
func (w *labelWriter) appendLink(link dictionary.Link, attributes []int32) {
	if w.saysLink(link, attributes) {
		return
	}
	names := w.t.opts.LinkLabels
	if !link.TraceID.IsEmpty() {
		w.sample = w.appendText(w.sample, names.Trace, link.TraceID.String())
	}
	if !link.SpanID.IsEmpty() {
		w.sample = w.appendText(w.sample, names.Span, link.SpanID.String())
	}
}

func (w *labelWriter) appendText(dst []byte, key, value string) []byte {
	return pprofwire.AppendLabel(dst, pprofwire.Label{Key: w.t.localText(key), Str: w.t.localText(value)})
}

func (w *labelWriter) saysLink(link dictionary.Link, attributes []int32) bool {
	for _, pair := range w.links {
		trace, span := "", ""
		for _, a := range attributes {
			attribute := w.t.dict.AttributeAt(a)
			if attribute.Key == pair.trace {
				trace = idText(attribute, pair.names)
			}
			if attribute.Key == pair.span && pair.names.Span != "" {
				span = idText(attribute, pair.names)
			}
		}
		if trace == "" {
			continue
		}
		if said, ok := spanlink.Parse(trace, span, pair.names.Decimal); ok && said == link {
			return true
		}
	}
	return false
}

// idText returns the text of an id in an attribute; a number is one only where ids are decimal.
func idText(a dictionary.Attribute, names LinkLabels) string {
	switch {
	case a.Kind == pcommon.ValueTypeStr:
		return a.Text
	case a.Kind == pcommon.ValueTypeInt && names.Decimal:
		return strconv.FormatUint(a.Number, 10)
	default:
		return ""
	}
}

// key returns the key of the label that an attribute becomes.
func (w *labelWriter) key(a dictionary.Attribute) uint32 {
	if w.threads {
		switch key := w.t.dict.StringAt(a.Key); {
		case key == semconv.ThreadID && a.Kind == pcommon.ValueTypeInt:
			return w.t.localText(labelThreadID)
		case key == semconv.ThreadName && a.Kind == pcommon.ValueTypeStr:
			return w.t.localText(labelThreadName)
		}
	}
	return w.t.locals.string(a.Key)
}

// appendAttribute writes what an attribute becomes: a label for a string or int, several for an array of those, and the
// text of everything else.
func (w *labelWriter) appendAttribute(a dictionary.Attribute) {
	key, unit := w.key(a), w.t.locals.string(a.Unit)
	switch a.Kind {
	case pcommon.ValueTypeInt:
		w.appendNum(key, unit, int64(a.Number))
	case pcommon.ValueTypeSlice:
		if !isLabelArray(a.Value.Slice()) {
			w.appendStr(key, a.AsString())
			return
		}
		for _, item := range a.Value.Slice().All() {
			w.appendItem(key, unit, item)
		}
	default:
		w.appendStr(key, a.AsString())
	}
}

func (w *labelWriter) appendNum(key, unit uint32, value int64) {
	w.encoded = pprofwire.AppendLabel(w.encoded, pprofwire.Label{Key: key, Num: value, NumUnit: unit})
}

func (w *labelWriter) appendStr(key uint32, value string) {
	str := w.t.locals.labelString(w.t.dict.String(value))
	w.encoded = pprofwire.AppendLabel(w.encoded, pprofwire.Label{Key: key, Str: str})
}

// appendItem writes one item of an array that isLabelArray accepted.
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
		w.appendStr(key, item.Str())
	}
}

// isLabelArray tells whether all items are what several labels of one key become: strings, ints, or either with a unit
// of its own.
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

// unitPair returns the value of a map that has a value and perhaps a unit, a string, and nothing else.
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
