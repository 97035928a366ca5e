// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// extractLink returns the link from the first pair of link labels that has one. It removes labels from refs if the link
// contains all their information.
func (t *decoding) extractLink(refs []labelRef) (rest []labelRef, link int32) {
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
		if names == spanlink.CanonicalLabels() && spanlink.Canonical(trace, span) && !found.SpanID.IsEmpty() && !t.otherLabelsHave(refs, traceLabel, spanLabel, found) {
			refs = slices.DeleteFunc(refs, func(ref labelRef) bool {
				return ref.label == traceLabel || ref.label == spanLabel
			})
		}
		return refs, t.addLink(found)
	}
	return refs, 0
}

func (t *decoding) addLink(link dictionary.Link) int32 {
	_ = t.meter.Need(dictionary.LinkBytes) // addSamples checks the error.
	before := t.dict.NumLinks()
	index := t.dict.Link(link)
	if t.dict.NumLinks() > before {
		_ = t.meter.Use(dictionary.LinkBytes)
	}
	return index
}

// maxIDText is longer than any id.
const maxIDText = 64

// otherLabelsHave reports whether other labels than these have the same link. Then an Encoder would not restore these
// labels if they were removed, see [labelWriter.hasLink].
func (t *decoding) otherLabelsHave(refs []labelRef, traceLabel, spanLabel *pprofwire.Label, link dictionary.Link) bool {
	hasTrace, hasSpan := false, false
	for _, ref := range refs {
		if ref.label != traceLabel && ref.label != spanLabel {
			hasTrace = hasTrace || t.labelIs(link.TraceID[:], ref.label)
			hasSpan = hasSpan || t.labelIs(link.SpanID[:], ref.label)
		}
	}
	return hasTrace && hasSpan
}

// labelIs reports whether the value of a label is this id.
func (t *decoding) labelIs(id []byte, l *pprofwire.Label) bool {
	if l.Str != 0 {
		return spanlink.Is(id, t.wire.String(l.Str), true)
	}
	return spanlink.IsNumber(id, uint64(l.Num))
}

// onlyLabel returns the label with this key, or nil if there is none or more than one.
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

// idText returns the text of an id. Numbers are ids only if names.Decimal is set.
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
