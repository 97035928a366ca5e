// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlink

// Labels are the names of the two labels that link a sample to a span. Span can be empty: then the trace alone makes the
// link.
type Labels struct {
	Trace string
	Span  string
	// Decimal means that ids are decimal numbers. A trace id with 32 digits is always hex.
	Decimal bool
}

// CanonicalLabels returns the labels that this project writes. With ids in the canonical form, see [Canonical], a link
// needs no attributes to restore them.
func CanonicalLabels() Labels { return Labels{Trace: "trace_id", Span: "span_id"} }

// DefaultLabels returns the labels of Splunk and the Grafana SDKs, of Datadog, and of Polar Signals, in this order.
func DefaultLabels() []Labels {
	return []Labels{
		CanonicalLabels(),
		{Trace: "trace id", Span: "span id", Decimal: true},
		{Trace: "otel.traceid"},
	}
}
