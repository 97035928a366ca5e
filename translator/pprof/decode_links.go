// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/spanlink"
)

// takeLink makes a link of the first pair of labels that names one. Labels that say no more than the link are taken out
// of refs.
func (t *decoding) takeLink(refs []labelRef) (rest []labelRef, link int32) {
	for pair, keys := range t.labels.links {
		names := t.opts.LinkLabels[pair]
		traceLabel := onlyLabel(refs, keys.trace)
		if traceLabel == nil {
			continue
		}
		spanLabel := onlyLabel(refs, keys.span)
		trace, span := t.idText(traceLabel, names), t.idText(spanLabel, names)
		found, ok := spanlink.Parse(trace, span, names.Decimal)
		if !ok {
			continue
		}
		if names == defaultLinkNames && spanlink.Canonical(trace, span) && !found.SpanID.IsEmpty() && !t.saidAgain(refs, found) {
			refs = slices.DeleteFunc(refs, func(ref labelRef) bool {
				return ref.label == traceLabel || ref.label == spanLabel
			})
		}
		return refs, t.addLink(found)
	}
	return refs, 0
}

func (t *decoding) addLink(link dictionary.Link) int32 {
	t.reserved.need(dictionary.LinkBytes)
	before := t.dict.NumLinks()
	index := t.dict.Link(link)
	if t.dict.NumLinks() > before {
		t.reserved.grown += dictionary.LinkBytes
	}
	return index
}

// maxIDText is more than any id has.
const maxIDText = 64

// otherLinkLabels are those in which an Encoder finds a link beside the default ones.
var otherLinkLabels = DefaultLinkLabels()[1:]

// saidAgain tells whether other labels say the same link. Without its own labels it would seem on the way back that those
// were all there were.
func (t *decoding) saidAgain(refs []labelRef, link dictionary.Link) bool {
	for i := range otherLinkLabels {
		names := otherLinkLabels[i]
		traceLabel := onlyLabel(refs, t.labels.find(names.Trace))
		if traceLabel == nil {
			continue
		}
		spanLabel := onlyLabel(refs, t.labels.find(names.Span))
		said, ok := spanlink.Parse(t.idText(traceLabel, names), t.idText(spanLabel, names), names.Decimal)
		if ok && said == link {
			return true
		}
	}
	return false
}

// find returns the position of a key, -1 if the payload does not have it so far.
func (l *labelTranslation) find(name string) int32 {
	if key, known := l.byName[name]; known && name != "" {
		return key
	}
	return -1
}

// onlyLabel returns the label of this key, or nil if there is none or more than one.
func onlyLabel(refs []labelRef, key int32) *pprofwire.Label {
	var only *pprofwire.Label
	for _, ref := range refs {
		if ref.key != key {
			continue
		}
		if only != nil {
			return nil
		}
		only = ref.label
	}
	return only
}

// idText returns the text of an id; a number is one only where ids are decimal.
func (t *decoding) idText(l *pprofwire.Label, names LinkLabels) string {
	switch {
	case l == nil:
		return ""
	case l.Str != 0:
		text := t.wire.String(l.Str)
		return string(text[:min(len(text), maxIDText)])
	case names.Decimal:
		return strconv.FormatUint(uint64(l.Num), 10)
	default:
		return ""
	}
}
