// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"slices"
	"strconv"

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
		t.need(dictionary.LinkBytes)
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
