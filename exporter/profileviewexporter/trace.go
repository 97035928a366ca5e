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

// The parameters that choose the samples of a trace and of a span. traceField and spanField stand for their values in trace_url.
const (
	traceParameter = "trace_id"
	spanParameter  = "span_id"
	traceField     = "{trace_id}"
	spanField      = "{span_id}"
)

// onlyOf returns the labels that samples must have, as parameters say. Those of labels begin with prefix, if there is one.
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
			return nil, fail(http.StatusNotFound, "samples have no label of a span: the option link_labels::span is empty")
		}
		only = append(only, selector.Selector{Key: id.label, Text: text})
	}
	return only, nil
}

// tellTrace says on a page that it shows the samples of a trace or a span alone.
func (p *pages) tellTrace(a *about, values url.Values) {
	a.Trace, a.Span = strings.ToLower(values.Get(traceParameter)), strings.ToLower(values.Get(spanParameter))
	if a.Trace != "" {
		a.TraceLink = p.traceLink(a.Trace, a.Span)
	}
	if a.Trace != "" || a.Span != "" {
		a.Whole = "?" + withoutTrace(values).Encode()
	}
}

// traceLink is the address of a trace in another system, empty where none is configured.
func (p *pages) traceLink(trace, span string) string {
	return strings.NewReplacer(traceField, trace, spanField, span).Replace(p.cfg.TraceURL)
}

// withoutTrace returns parameters without those that choose samples.
func withoutTrace(values url.Values) url.Values {
	changed := url.Values{}
	for name, list := range values {
		if name != traceParameter && name != spanParameter {
			changed[name] = list
		}
	}
	return changed
}
