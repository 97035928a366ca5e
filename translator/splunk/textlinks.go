// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
)

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
