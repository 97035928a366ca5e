// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// extractLink makes a link from the first pair of labels that has one. Labels with more information than the link become
// attributes. Ids of zeros are ignored.
func (t *decoding) extractLink() (link int32) {
	l := &t.labels
	// A thread often stays in its span.
	if slices.Equal(l.links, l.lastLinks) {
		return l.lastLink
	}
	l.lastLinks = append(l.lastLinks[:0], l.links...)
	link, traceLabel, spanLabel := t.findLink()
	for i := range l.links {
		label := &l.links[i]
		if i == traceLabel || i == spanLabel || t.isZeroID(label) {
			continue
		}
		key := t.labelKey(label.Key)
		if !t.isNewKey(key) {
			continue
		}
		t.attributes = append(t.attributes, t.labelAttribute(key, label))
		l.lastLinks = l.lastLinks[:0]
	}
	l.lastLink = link
	return link
}

// findLink adds the link to the dictionary, and returns the labels whose information it contains completely, or -1.
func (t *decoding) findLink() (link int32, traceLabel, spanLabel int) {
	for _, names := range t.opts.LinkLabels {
		traceLabel = t.linkLabel(names.Trace)
		if traceLabel < 0 {
			continue
		}
		var span []byte
		spanLabel = t.linkLabel(names.Span)
		if spanLabel >= 0 {
			span = t.idText(&t.labels.links[spanLabel], names)
		}
		found, ok := spanlink.Parse(string(t.idText(&t.labels.links[traceLabel], names)), string(span), names.Decimal)
		if !ok {
			continue
		}
		if found.SpanID.IsEmpty() {
			spanLabel = -1
		}
		_ = t.memory.Need(dictionary.LinkBytes) // translatePprof checks the error.
		return t.dict.Link(found), traceLabel, spanLabel
	}
	return 0, -1, -1
}

// linkLabel returns the index in links of the label with this key, or -1.
func (t *decoding) linkLabel(key string) int {
	if key == "" {
		return -1
	}
	return slices.IndexFunc(t.labels.links, func(l pprofwire.Label) bool { return string(t.wire.String(l.Key)) == key })
}

// idText returns the text of an id. Numbers are ids only if names.Decimal is set.
func (t *decoding) idText(l *pprofwire.Label, names pprof.LinkLabels) []byte {
	switch {
	case l.Str != 0:
		text := t.wire.String(l.Str)
		return text[:min(len(text), maxNumberText)]
	case names.Decimal:
		return strconv.AppendUint(nil, uint64(l.Num), 10)
	default:
		return nil
	}
}

func (t *decoding) isZeroID(l *pprofwire.Label) bool {
	if l.Str == 0 {
		return l.Num == 0
	}
	// A text that is longer than any id is not read: a sample can have many such labels.
	text := t.wire.String(l.Str)
	return len(text) <= maxNumberText && isZeroID(string(text))
}

// isZeroID reports whether an id is empty or consists of zeros.
func isZeroID(id string) bool {
	if len(id) > 1 && id[0] == '0' && (id[1] == 'x' || id[1] == 'X') {
		id = id[2:]
	}
	for i := range len(id) {
		if id[i] != '0' {
			return false
		}
	}
	return true
}

// textLink returns the link from the trace and span id of the record, or from its attributes, which an early Java agent
// used. A span id of the record without a trace id becomes an attribute.
func (t *decoding) textLink(trace pcommon.TraceID, span pcommon.SpanID) int32 {
	if !trace.IsEmpty() {
		return t.dict.Link(dictionary.Link{TraceID: trace, SpanID: span})
	}
	link := t.attributeLink()
	if !span.IsEmpty() && t.dict.LinkAt(link).SpanID.IsEmpty() {
		t.attributes = append(t.attributes, t.dict.StringAttribute(t.textKey(labelSpanID), span.String()))
	}
	return link
}

// attributeLink returns the link from the attributes of the record, or 0.
func (t *decoding) attributeLink() int32 {
	for _, names := range t.opts.LinkLabels {
		if traceText, found := t.record.log.Attributes().Get(names.Trace); found {
			spanText, _ := t.record.log.Attributes().Get(names.Span)
			if link, ok := spanlink.Parse(textOf(traceText), textOf(spanText), names.Decimal); ok {
				return t.dict.Link(link)
			}
		}
	}
	return 0
}

func textOf(value pcommon.Value) string {
	if value == (pcommon.Value{}) {
		return ""
	}
	return attributevalue.Text(value)
}

// isInLink reports whether an attribute has an id of the link under one of its names, or a zero id, which says nothing.
func (t *decoding) isInLink(index int32, key string, value pcommon.Value) bool {
	if index == 0 {
		return false
	}
	link := t.dict.LinkAt(index)
	for _, names := range t.opts.LinkLabels {
		isTrace, isSpan := key == names.Trace, key == names.Span && key != ""
		if !isTrace && !isSpan {
			continue
		}
		text := textOf(value)
		if isZeroID(text) || isTrace && spanlink.Is(link.TraceID[:], text, names.Decimal) || isSpan && spanlink.Is(link.SpanID[:], text, names.Decimal) {
			return true
		}
	}
	return key == labelTraceID && spanlink.Is(link.TraceID[:], textOf(value), false) ||
		key == labelSpanID && !link.SpanID.IsEmpty() && spanlink.Is(link.SpanID[:], textOf(value), false)
}

// isOtherID reports whether an attribute that is not in the link has the name of a label of the link in a pprof. With both, the
// pprof would have two values of the label, from which a decoder makes no link.
func (t *decoding) isOtherID(index int32, key string, value pcommon.Value) bool {
	switch {
	case index == 0 || t.isInLink(index, key, value):
		return false
	case key == labelSpanID && t.dict.LinkAt(index).SpanID.IsEmpty():
		return t.record.hasOtherTrace
	default:
		return key == labelTraceID || key == labelSpanID
	}
}

// hasOtherTrace reports whether the record has an attribute with another trace id than its link. A span id beside it is of that trace.
func (t *decoding) hasOtherTrace(index int32) bool {
	trace, found := t.record.log.Attributes().Get(labelTraceID)
	return found && t.isOtherID(index, labelTraceID, trace)
}

// addOtherIDs adds the ids of the record that are not those of its link, with a number in their key. span is the span id of the
// record.
func (t *decoding) addOtherIDs(index int32, span pcommon.SpanID) {
	for _, key := range []string{labelTraceID, labelSpanID} {
		if value, found := t.record.log.Attributes().Get(key); found && t.isOtherID(index, key, value) {
			t.addNumbered(key, t.validValue(value))
		}
	}
	if own := t.dict.LinkAt(index).SpanID; !span.IsEmpty() && !own.IsEmpty() && span != own {
		t.addNumbered(labelSpanID, pcommon.NewValueStr(span.String()))
	}
}

// addNumbered adds an attribute with the first number in its key that the sample does not have.
func (t *decoding) addNumbered(key string, value pcommon.Value) {
	var index int32
	spanlink.FreeKey(key, func(key string) bool {
		index = t.dict.String(key)
		return !t.keys.add(index)
	})
	t.attributes = append(t.attributes, t.dict.Attribute(index, 0, value))
}
