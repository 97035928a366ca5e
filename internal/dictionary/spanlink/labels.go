// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlink

import "strconv"

// Labels are the names of the two labels that link a sample to a span. Span can be empty: then the trace alone makes the
// link.
type Labels struct {
	Trace string `mapstructure:"trace"`
	Span  string `mapstructure:"span"`
	// Decimal says that ids are decimal numbers, unless a trace id has 32 digits: then it is hexadecimal.
	Decimal bool `mapstructure:"decimal"`
}

// CanonicalLabels returns the labels that this project writes. With ids in the canonical form, see [Canonical], a link
// needs no attributes to restore them.
func CanonicalLabels() Labels { return Labels{Trace: "trace_id", Span: "span_id"} }

// FreeKey returns key with the first number from 2 on, such as trace_id.2, that is not taken. It is the key of an id that differs from the
// id in the link of the sample: in a pprof, the link has the labels trace_id and span_id, and a decoder makes no link of two values.
func FreeKey(key string, taken func(string) bool) string {
	for n := 2; ; n++ {
		if free := key + "." + strconv.Itoa(n); !taken(free) {
			return free
		}
	}
}

// DefaultLabels returns the labels of Splunk and the Grafana SDKs, of Datadog, and of Polar Signals, in this order.
func DefaultLabels() []Labels {
	return []Labels{
		CanonicalLabels(),
		{Trace: "trace id", Span: "span id", Decimal: true},
		{Trace: "otel.traceid"},
	}
}
