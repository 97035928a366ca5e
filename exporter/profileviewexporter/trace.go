// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// The parameters that select the samples of a trace and of a span. traceField and spanField are their placeholders in
// trace_url.
const (
	traceParameter = "trace_id"
	spanParameter  = "span_id"
	traceField     = "{trace_id}"
	spanField      = "{span_id}"
)

// onlyOf returns the labels that samples must have: the trace, the span, and the labels of the parameters with a prefix, which
// can be empty.
func (p *pages) onlyOf(values url.Values, prefix string) ([]selector.Selector, error) {
	only, err := selectorsOf(values, prefix+labelPrefix)
	if err != nil {
		return nil, err
	}
	for _, id := range []struct {
		parameter, label string
		bytes            int
	}{{traceParameter, p.cfg.Encoding.LinkLabels.Trace, 16}, {spanParameter, p.cfg.Encoding.LinkLabels.Span, 8}} {
		text := strings.ToLower(values.Get(id.parameter))
		if text == "" {
			continue
		}
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != id.bytes {
			return nil, fail(http.StatusBadRequest, "%s must be %d bytes in hexadecimal, not %.40q", id.parameter, id.bytes, text)
		}
		if id.label == "" {
			return nil, fail(http.StatusNotFound, "samples have no span label: the option link_labels::span is empty")
		}
		only = append(only, selector.Selector{Key: id.label, Text: text})
	}
	return only, nil
}

// addTrace describes in the bar that the page shows only the samples of a trace or span.
func (p *pages) addTrace(a *about, values url.Values) {
	a.Trace, a.Span = strings.ToLower(values.Get(traceParameter)), strings.ToLower(values.Get(spanParameter))
	if a.Trace != "" {
		a.TraceLink = p.traceLink(a.Trace, a.Span)
	}
	if a.Trace != "" || a.Span != "" {
		a.Whole = "?" + without(without(values, traceParameter), spanParameter).Encode()
	}
}

// traceLink returns the URL of a trace in another system. It is empty without trace_url.
func (p *pages) traceLink(trace, span string) string {
	return strings.NewReplacer(traceField, trace, spanField, span).Replace(p.cfg.TraceURL)
}
