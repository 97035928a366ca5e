// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/spanlink"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// spanContext has the fields of an event that identify its span. Pyroscope's agents write them.
type spanContext struct {
	// context is the id of a context in the labels snapshot.
	context uint64
	// span is the id of the span, name the id of its name in the strings of the labels snapshot.
	span, name uint64
	// traceHigh and traceLow are the two halves of the trace id.
	traceHigh, traceLow uint64
}

// The names of attributes for a span, as in Pyroscope.
const (
	attributeProfileID = "profile_id"
	attributeSpanName  = "span_name"
)

// addContext adds the attributes of a context to those of the sample, and returns the index of its link, or 0. The ids of the event
// take precedence over ids in its labels.
func (t *decoding) addContext(c *spanContext) (link int32) {
	var ids dictionary.Link
	if c.traceHigh != 0 || c.traceLow != 0 {
		binary.BigEndian.PutUint64(ids.TraceID[:8], c.traceHigh)
		binary.BigEndian.PutUint64(ids.TraceID[8:], c.traceLow)
		binary.BigEndian.PutUint64(ids.SpanID[:], c.span)
	}
	if labels := t.labels.contexts[c.context]; labels != nil {
		if !labels.done {
			t.translateLabels(labels)
		}
		t.attributes = append(t.attributes, labels.attributes...)
		if ids == (dictionary.Link{}) || ids == labels.link {
			ids = labels.link
			t.addIDLabels(labels)
		} else {
			t.addOtherIDs(ids, labels)
		}
	}
	if ids != (dictionary.Link{}) {
		link = t.addLink(ids)
	}
	if c.traceHigh == 0 && c.traceLow == 0 && c.span != 0 {
		t.addAttribute(attributeProfileID, hex.AppendEncode(nil, binary.BigEndian.AppendUint64(nil, c.span)))
	}
	if name := t.labels.strings[c.name]; c.name != 0 && len(name) > 0 {
		t.addAttribute(attributeSpanName, name)
	}
	return link
}

// addIDLabels adds the labels trace_id and span_id of a context as attributes, unless its link replaces them.
func (t *decoding) addIDLabels(c *labelContext) {
	if c.trace.found && !c.replaced {
		t.addAttribute(canonicalLabels.Trace, c.trace.value)
	}
	if c.span.found && !c.replaced {
		t.addAttribute(canonicalLabels.Span, c.span.value)
	}
}

// addOtherIDs does the same for a sample with another link than that of the context. It adds only what the link does not say, with a
// number in the key: in a pprof, the link has the labels trace_id and span_id, and a decoder makes no link of two values.
func (t *decoding) addOtherIDs(link dictionary.Link, c *labelContext) {
	if c.trace.found && !spanlink.Is(link.TraceID[:], c.trace.value, false) {
		t.addAttribute(t.freeKey(canonicalLabels.Trace), c.trace.value)
	}
	if c.span.found && !spanlink.Is(link.SpanID[:], c.span.value, false) {
		t.addAttribute(t.freeKey(canonicalLabels.Span), c.span.value)
	}
}

// freeKey returns a key with the first number that makes it one that the sample does not have.
func (t *decoding) freeKey(key string) string {
	for n := 2; ; n++ {
		free := key + "." + strconv.Itoa(n)
		if !slices.ContainsFunc(t.attributes, func(a int32) bool { return t.dict.StringAt(t.dict.AttributeAt(a).Key) == free }) {
			return free
		}
	}
}

func (t *decoding) addLink(l dictionary.Link) int32 {
	if !t.need(dictionary.LinkBytes) {
		return 0
	}
	return t.dict.Link(l)
}

// addAttribute adds an attribute to those of the sample, unless the sample already has the key.
func (t *decoding) addAttribute(key string, value []byte) {
	if !t.need(dictionary.AttributeBytes + 3*int64(len(key)+len(value))) {
		return
	}
	index := t.dict.String(key)
	if t.hasKey(t.attributes, index) {
		return
	}
	before := t.dict.NumAttributes()
	attribute := t.dict.StringBytesAttribute(index, 0, t.valid(value))
	// To look up a long text costs time even if it is not new.
	if t.dict.NumAttributes() > before || len(value) > longText {
		t.spendText(len(value))
	}
	t.attributes = append(t.attributes, attribute)
}

// longText is the length in bytes above which each lookup of a text counts towards the limit of text.
const longText = 256

func (t *decoding) hasKey(attributes []int32, key int32) bool {
	return slices.ContainsFunc(attributes, func(a int32) bool { return t.dict.AttributeAt(a).Key == key })
}

// translateLabels translates the labels of a context to attributes and a link.
func (t *decoding) translateLabels(c *labelContext) {
	c.done = true
	own := t.attributes
	t.attributes = c.attributes[:0:0]
	c.link, c.replaced = t.linkOf(c)
	c.trace, c.span = t.label(c, canonicalLabels.Trace), t.label(c, canonicalLabels.Span)
	for _, l := range c.labels {
		key, value := t.labels.strings[l[0]], t.labels.strings[l[1]]
		if len(key) == 0 || string(key) == canonicalLabels.Trace || string(key) == canonicalLabels.Span || isThreadAttribute(key) {
			continue
		}
		if !t.spendText(len(key)) {
			break
		}
		t.addAttribute(string(t.valid(key)), value)
	}
	t.reserved.grown += 8 * int64(len(t.attributes))
	c.attributes, t.attributes = t.attributes, own
}

// isThreadAttribute reports whether the name of a label is that of an attribute that the decoder sets itself.
func isThreadAttribute(key []byte) bool {
	switch string(key) {
	case attributeThreadID, attributeThreadOSID, attributeThreadName, attributeThreadState, attributeTruncated:
		return true
	default:
		return false
	}
}

// canonicalLabels are the names of the labels that a link can replace: an Encoder restores them.
var canonicalLabels = pprof.DefaultLinkLabels()[0]

// linkOf returns the link in the labels of a context. replaced says that an Encoder restores the labels from the link.
func (t *decoding) linkOf(c *labelContext) (link dictionary.Link, replaced bool) {
	for _, names := range t.opts.LinkLabels {
		trace, span := t.label(c, names.Trace), t.label(c, names.Span)
		traceID, spanID := trace.idText(), span.idText()
		found, ok := spanlink.Parse(traceID, spanID, names.Decimal)
		if !trace.found || !ok {
			continue
		}
		canonical := names == canonicalLabels && spanlink.Canonical(traceID, spanID) && found.SpanID != (pcommon.SpanID{})
		return found, canonical
	}
	return dictionary.Link{}, false
}

// maxIDText is a length in bytes that no text of an id exceeds.
const maxIDText = 64

// idText returns the value, if it can be the text of an id.
func (l idLabel) idText() string { return string(l.value[:min(len(l.value), maxIDText)]) }

// label returns the first label with this name. No label has an empty name.
func (t *decoding) label(c *labelContext, name string) idLabel {
	for _, l := range c.labels {
		if name != "" && string(t.labels.strings[l[0]]) == name {
			return idLabel{t.labels.strings[l[1]], true}
		}
	}
	return idLabel{}
}
