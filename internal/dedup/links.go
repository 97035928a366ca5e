// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// partialLinks replaces links that name a trace without a span, or a span without a trace. The protocol has no such link,
// and pdata writes an empty id for the missing one, for which strict readers refuse the message.
type partialLinks struct {
	dict pprofile.ProfilesDictionary
	// trace and span tell of each attribute whether its key is one that names a trace or a span.
	trace, span []bool
	// attributes has the attribute that replaces a link.
	attributes map[int32]int32
}

// isPartial tells whether a link has one of its ids only.
func isPartial(l pprofile.Link) bool { return l.TraceID().IsEmpty() != l.SpanID().IsEmpty() }

// dropPartialLinks makes attributes of partial links: the id that is there becomes the attribute trace_id or span_id of the
// sample, unless an attribute names it already.
func (w *work) dropPartialLinks() {
	if !w.opts.DropPartialLinks || !w.hasPartialLinks() {
		return
	}
	w.makeOwn()
	p := newPartialLinks(w.pd.Dictionary())
	for profile := range walk.Profiles(w.pd) {
		for _, sample := range profile.Samples().All() {
			if p.replace(sample) {
				w.stats.PartialLinks++
			}
		}
	}
}

// hasPartialLinks tells whether any sample has one.
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
	for _, labels := range pprof.DefaultLinkLabels() {
		traces, spans = append(traces, labels.Trace), append(spans, labels.Span)
	}
	return &partialLinks{dict, attributesOf(dict, traces...), attributesOf(dict, spans...), map[int32]int32{}}
}

// replace takes a partial link off a sample, and reports whether there was one.
func (p *partialLinks) replace(sample pprofile.Sample) bool {
	i := sample.LinkIndex()
	if i <= 0 || int(i) >= p.dict.LinkTable().Len() || !isPartial(p.dict.LinkTable().At(int(i))) {
		return false
	}
	sample.SetLinkIndex(0)
	link, named := p.dict.LinkTable().At(int(i)), p.trace
	if link.TraceID().IsEmpty() {
		named = p.span
	}
	if !hasAny(sample.AttributeIndices(), named) {
		sample.AttributeIndices().Append(p.attribute(i, link))
	}
	return true
}

// hasAny tells whether a list has an index that is marked.
func hasAny(list pcommon.Int32Slice, marked []bool) bool {
	for _, i := range list.All() {
		if i >= 0 && int(i) < len(marked) && marked[i] {
			return true
		}
	}
	return false
}

// attribute returns the attribute that says what a link says.
func (p *partialLinks) attribute(i int32, link pprofile.Link) int32 {
	if known, found := p.attributes[i]; found {
		return known
	}
	labels := pprof.DefaultLinkLabels()[0]
	key, id := labels.Trace, link.TraceID().String()
	if link.TraceID().IsEmpty() {
		key, id = labels.Span, link.SpanID().String()
	}
	texts, table := p.dict.StringTable(), p.dict.AttributeTable()
	texts.Append(key)
	attribute := table.AppendEmpty()
	attribute.SetKeyStrindex(int32(texts.Len() - 1))
	attribute.Value().SetStr(id)
	p.attributes[i] = int32(table.Len() - 1)
	return p.attributes[i]
}
