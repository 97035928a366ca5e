// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
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
	hasTrace := c.traceHigh != 0 || c.traceLow != 0
	if hasTrace {
		binary.BigEndian.PutUint64(ids.TraceID[:8], c.traceHigh)
		binary.BigEndian.PutUint64(ids.TraceID[8:], c.traceLow)
		binary.BigEndian.PutUint64(ids.SpanID[:], c.span)
	}
	if labels := t.labels.contexts[c.context]; labels != nil {
		t.translateLabels(labels)
		t.attributes = append(t.attributes, labels.attributes...)
		others := hasTrace && ids != labels.link
		if !others {
			ids = labels.link
		}
		t.addIDLabel(canonicalLabels.Trace, &labels.trace, ids.TraceID[:], others, labels.replaced)
		t.addIDLabel(canonicalLabels.Span, &labels.span, ids.SpanID[:], others, labels.replaced)
	}
	if ids != (dictionary.Link{}) {
		link = t.addLink(ids)
	}
	if !hasTrace && c.span != 0 {
		t.addAttribute(attributeProfileID, hex.AppendEncode(nil, binary.BigEndian.AppendUint64(nil, c.span)))
	}
	if name := t.labels.strings[c.name]; c.name != 0 && len(name) > 0 {
		t.addAttribute(attributeSpanName, name)
	}
	return link
}

// addIDLabel adds the label trace_id or span_id of a context as an attribute, unless the link says the same. others says that the link
// has the ids of the event. Then the key gets a number, see [spanlink.FreeKey].
func (t *decoding) addIDLabel(key string, label *idLabel, id []byte, others, replaced bool) {
	switch {
	case label.value == nil:
	case !others && !replaced:
		t.addAttribute(key, label.value)
	case others && !spanlink.Is(id, label.value, false):
		if label.otherKey == "" {
			label.otherKey = t.freeKey(key)
		}
		t.addAttribute(label.otherKey, label.value)
	}
}

// freeKey returns a key with the first number that makes it one that the sample does not have.
func (t *decoding) freeKey(key string) string {
	return spanlink.FreeKey(key, func(free string) bool {
		return slices.ContainsFunc(t.attributes, func(a int32) bool { return t.dict.StringAt(t.dict.AttributeAt(a).Key) == free })
	})
}

func (t *decoding) addLink(l dictionary.Link) int32 {
	if t.meter.Need(dictionary.LinkBytes) != nil {
		return 0
	}
	return t.dict.Link(l)
}

// addAttribute adds an attribute to those of the sample, unless the sample already has the key.
func (t *decoding) addAttribute(key string, value []byte) {
	if t.meter.Need(dictionary.AttributeBytes+3*int64(len(key)+len(value))) != nil {
		return
	}
	index := t.dict.String(key)
	if slices.ContainsFunc(t.attributes, func(a int32) bool { return t.dict.AttributeAt(a).Key == index }) {
		return
	}
	before := t.dict.NumAttributes()
	attribute := t.dict.StringBytesAttribute(index, t.valid(value))
	// To look up a long text costs time even if it is not new.
	if t.dict.NumAttributes() > before || len(value) > longText {
		t.spendText(len(value))
	}
	t.attributes = append(t.attributes, attribute)
}

// longText is the length in bytes above which each lookup of a text counts towards the limit of text.
const longText = 256

// ownNames are the names of the attributes that the decoder sets itself, and of the labels that a link can replace.
var ownNames = []string{
	semconv.ThreadID, semconv.ThreadOSID, semconv.ThreadName, semconv.ThreadState, semconv.StackTruncated, canonicalLabels.Trace,
	canonicalLabels.Span,
}

// translateLabels translates the labels of a context to attributes and a link, once.
func (t *decoding) translateLabels(c *labelContext) {
	if c.done {
		return
	}
	c.done = true
	own := t.attributes
	t.attributes = nil
	c.link, c.replaced = t.linkOf(c)
	c.trace.value, c.span.value = t.label(c, canonicalLabels.Trace), t.label(c, canonicalLabels.Span)
	for _, l := range c.labels {
		key, value := t.labels.strings[l[0]], t.labels.strings[l[1]]
		if len(key) == 0 || slices.Contains(ownNames, string(key)) {
			continue
		}
		if !t.spendText(len(key)) {
			break
		}
		t.addAttribute(string(t.valid(key)), value)
	}
	_ = t.meter.Use(8 * int64(len(t.attributes))) // readEvents checks the error.
	c.attributes, t.attributes = t.attributes, own
}

// canonicalLabels are the names of the labels that a link can replace: an Encoder restores them.
var canonicalLabels = spanlink.CanonicalLabels()

// linkOf returns the link in the labels of a context. replaced says that an Encoder restores the labels from the link.
func (t *decoding) linkOf(c *labelContext) (link dictionary.Link, replaced bool) {
	for _, names := range t.opts.LinkLabels {
		trace, span := idText(t.label(c, names.Trace)), idText(t.label(c, names.Span))
		if found, ok := spanlink.Parse(trace, span, names.Decimal); ok {
			return found, names == canonicalLabels && spanlink.Canonical(trace, span) && found.SpanID != (pcommon.SpanID{})
		}
	}
	return dictionary.Link{}, false
}

// maxIDText is a length in bytes that no text of an id exceeds.
const maxIDText = 64

// idText returns the value of a label, if it can be the text of an id.
func idText(label []byte) string { return string(label[:min(len(label), maxIDText)]) }

// label returns the first label with this name, or nil. No label has an empty name.
func (t *decoding) label(c *labelContext, name string) []byte {
	for _, l := range c.labels {
		if name != "" && string(t.labels.strings[l[0]]) == name {
			return t.labels.strings[l[1]]
		}
	}
	return nil
}

// scope is a time in which a thread works on a span.
type scope struct {
	thread, start, end uint64
	link               dictionary.Link
}

// untilNext is the end of a scope that ends with the next one of its kind.
const untilNext = math.MaxUint64

// scopes are the spans of all threads.
type scopes struct {
	all []scope
	// changes has the link of each thread from a time on, by thread and time. The end is not used.
	changes []scope
}

// scopeBytes is the memory of a scope with its two changes, while the lists grow.
const scopeBytes = 3 * 3 * 48

// addScope adds the scope of an event. An event of Datadog can have its ids as numbers.
func (t *decoding) addScope(r role, v *fields) {
	if t.meter.Use(scopeBytes) != nil {
		return
	}
	s := scope{thread: v[fieldThread], end: untilNext}
	s.start, _ = t.chunk.time(v[fieldStartTime])
	if r == scoped {
		s.end = s.start + t.chunk.duration(v[fieldDuration])
	}
	if v[fieldTraceText] != 0 {
		trace := string(t.shortText(v[fieldTraceText]))
		s.link, _ = spanlink.Parse(trace, string(t.shortText(v[fieldSpanText])), false)
	} else if v[fieldTraceLow] != 0 {
		binary.BigEndian.PutUint64(s.link.TraceID[8:], v[fieldTraceLow])
		binary.BigEndian.PutUint64(s.link.SpanID[:], v[fieldSpanID])
	}
	t.scopes.all = append(t.scopes.all, s)
}

// sort finds the changes. Of several scopes of a thread, the last that began counts.
func (s *scopes) sort() {
	slices.SortStableFunc(s.all, func(a, b scope) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var open []scope
	// closeUntil closes the scopes that end until a time.
	closeUntil := func(time uint64) {
		for len(open) > 0 && open[len(open)-1].end <= time {
			change := scope{thread: open[0].thread, start: open[len(open)-1].end}
			for len(open) > 0 && open[len(open)-1].end <= change.start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				change.link = open[len(open)-1].link
			}
			s.changes = append(s.changes, change)
		}
	}
	for i, next := range s.all {
		if i > 0 && s.all[i-1].thread != next.thread {
			closeUntil(untilNext - 1)
			open = open[:0]
		}
		closeUntil(next.start)
		if n := len(open); n > 0 && next.end == untilNext && open[n-1].end == untilNext {
			open = open[:n-1]
		}
		open = append(open, next)
		s.changes = append(s.changes, next)
	}
	closeUntil(untilNext - 1)
}

// find returns the number of the change since which a thread works on its span at a time, plus one. 0 means that it works on none.
func (s *scopes) find(thread, time uint64) int32 {
	i, _ := slices.BinarySearchFunc(s.changes, scope{thread: thread, start: time}, func(a, b scope) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), -1) // Of several at the time, the last.
	})
	if i == 0 || s.changes[i-1].thread != thread || s.changes[i-1].link == (dictionary.Link{}) {
		return 0
	}
	return int32(i)
}
