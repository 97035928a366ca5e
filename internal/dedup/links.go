// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/hex"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// partialLinks replaces links that name a trace without a span, or a span without a trace. The protocol has no such link,
// and pdata writes an empty id for the missing one, for which strict readers refuse the message.
type partialLinks struct {
	dict pprofile.ProfilesDictionary
	// trace and span report, for each attribute, whether its key is that of a trace id or of a span id.
	trace, span []bool
	// attributes has the attributes that replace links.
	attributes map[replacement]int32
}

// replacement is an attribute that replaces a link.
type replacement struct {
	link int32
	key  string
}

// isPartial reports whether a link has only one of its ids.
func isPartial(l pprofile.Link) bool { return l.TraceID().IsEmpty() != l.SpanID().IsEmpty() }

// dropPartialLinks replaces partial links by attributes: their id becomes the attribute trace_id or span_id of the
// sample, unless an attribute already has it.
func (w *work) dropPartialLinks() {
	if !w.opts.DropPartialLinks || !w.hasPartialLinks() {
		return
	}
	w.makeOwn()
	w.keepMissing()
	p := newPartialLinks(w.pd.Dictionary())
	for profile := range walk.Profiles(w.pd) {
		for _, sample := range profile.Samples().All() {
			if p.replace(sample) {
				w.stats.PartialLinks++
			}
		}
	}
}

// hasPartialLinks reports whether any sample has one.
func (w *work) hasPartialLinks() bool {
	links := w.pd.Dictionary().LinkTable()
	partial := false
	for _, link := range links.All() {
		partial = partial || isPartial(link)
	}
	if !partial {
		return false
	}
	for profile := range walk.Profiles(w.pd) {
		for _, sample := range profile.Samples().All() {
			if i := sample.LinkIndex(); i > 0 && int(i) < links.Len() && isPartial(links.At(int(i))) {
				return true
			}
		}
	}
	return false
}

func newPartialLinks(dict pprofile.ProfilesDictionary) *partialLinks {
	var traces, spans []string
	for _, labels := range spanlink.DefaultLabels() {
		traces = append(traces, labels.Trace)
		if labels.Span != "" {
			spans = append(spans, labels.Span)
		}
	}
	return &partialLinks{dict, attributesOf(dict, traces...), attributesOf(dict, spans...), map[replacement]int32{}}
}

// replace replaces the partial link of a sample, and reports whether there was one.
func (p *partialLinks) replace(sample pprofile.Sample) bool {
	i := sample.LinkIndex()
	if i <= 0 || int(i) >= p.dict.LinkTable().Len() || !isPartial(p.dict.LinkTable().At(int(i))) {
		return false
	}
	sample.SetLinkIndex(0)
	link, named, key := p.dict.LinkTable().At(int(i)), p.trace, spanlink.CanonicalLabels().Trace
	if link.TraceID().IsEmpty() {
		named, key = p.span, spanlink.CanonicalLabels().Span
	}
	if list := sample.AttributeIndices(); hasAny(list, named) {
		if p.hasID(list, named, link) {
			return true
		}
		key = p.freeKey(list, key)
	}
	sample.AttributeIndices().Append(p.attribute(replacement{i, key}, link))
	return true
}

// hasID reports whether an attribute of a list that is in named has the id of a link.
func (p *partialLinks) hasID(list pcommon.Int32Slice, named []bool, link pprofile.Link) bool {
	for _, i := range list.All() {
		if i < 0 || int(i) >= len(named) || !named[i] {
			continue
		}
		if spanlink.IsValue(linkID(link), dictionary.NewAttribute(0, 0, p.dict.AttributeTable().At(int(i)).Value())) {
			return true
		}
	}
	return false
}

// linkID returns the id of a partial link.
func linkID(link pprofile.Link) []byte {
	if span := link.SpanID(); link.TraceID().IsEmpty() {
		return span[:]
	}
	trace := link.TraceID()
	return trace[:]
}

// freeKey returns a key that no attribute of a list has: key, or key with a number.
func (p *partialLinks) freeKey(list pcommon.Int32Slice, key string) string {
	const longest = 32 // No key with a number is longer; a long key of others would be hashed for each sample.
	taken := map[string]bool{}
	texts, table := p.dict.StringTable(), p.dict.AttributeTable()
	for _, i := range list.All() {
		if i <= 0 || int(i) >= table.Len() {
			continue
		}
		if text := table.At(int(i)).KeyStrindex(); text > 0 && int(text) < texts.Len() && len(texts.At(int(text))) <= longest {
			taken[texts.At(int(text))] = true
		}
	}
	if !taken[key] {
		return key
	}
	return spanlink.FreeKey(key, func(key string) bool { return taken[key] })
}

// hasAny reports whether a list has a marked index.
func hasAny(list pcommon.Int32Slice, marked []bool) bool {
	for _, i := range list.All() {
		if i >= 0 && int(i) < len(marked) && marked[i] {
			return true
		}
	}
	return false
}

// attribute returns the attribute with the id of a link.
func (p *partialLinks) attribute(of replacement, link pprofile.Link) int32 {
	if known, found := p.attributes[of]; found {
		return known
	}
	texts, table := p.dict.StringTable(), p.dict.AttributeTable()
	if texts.Len() == 0 {
		texts.Append("") // Entry 0 is the zero value.
	}
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	texts.Append(of.key)
	attribute := table.AppendEmpty()
	attribute.SetKeyStrindex(int32(texts.Len() - 1))
	attribute.Value().SetStr(hex.EncodeToString(linkID(link)))
	p.attributes[of] = int32(table.Len() - 1)
	return p.attributes[of]
}
