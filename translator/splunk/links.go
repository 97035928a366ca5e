// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"slices"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/spanlink"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// takeLink makes a link of the first pair of labels that names one, and attributes of those labels that say more than
// the link. Ids of zeros say nothing.
func (t *decoding) takeLink() (link int32) {
	l := &t.labels
	// A thread often goes on in its span.
	if slices.Equal(l.links, l.lastLinks) {
		return l.lastLink
	}
	l.lastLinks = append(l.lastLinks[:0], l.links...)
	link, traceLabel, spanLabel := t.findLink()
	for i := range l.links {
		label := &l.links[i]
		if i == traceLabel || i == spanLabel || t.isZeroID(label) || !t.isNewKey(t.labelKey(label.Key)) {
			continue
		}
		t.attributes = append(t.attributes, t.labelAttribute(label))
		l.lastLinks = l.lastLinks[:0]
	}
	l.lastLink = link
	return link
}

// findLink puts the link into the dictionary and tells which labels it says all of, -1 for none.
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
		t.need(dictionary.LinkBytes)
		return t.dict.Link(found), traceLabel, spanLabel
	}
	return 0, -1, -1
}

// linkLabel returns which of the sample's link labels has this key, -1 if none.
func (t *decoding) linkLabel(key string) int {
	if key == "" {
		return -1
	}
	return slices.IndexFunc(t.labels.links, func(l pprofwire.Label) bool { return string(t.wire.String(l.Key)) == key })
}

// idText returns the text of an id; a number is one only where ids are decimal.
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
	return isZeroID(string(t.wire.String(l.Str)))
}

// isZeroID tells whether an id is empty or has no digit but 0.
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
