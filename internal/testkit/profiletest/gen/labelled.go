// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import "github.com/google/pprof/profile"

// Labelled is a CPU profile with every form of label that clients write, one sample each: text, numbers with and
// without units, several values of one key, and the ways to name a trace and a span.
func Labelled() *profile.Profile {
	const (
		trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		span  = "00f067aa0ba902b7"
	)
	p := newProgram(8, 20, 200)
	describe(p.profile, "cpu", "nanoseconds", 10_000_000, "samples/count", "cpu/nanoseconds")
	p.profile.DurationNanos = 10 * second
	p.profile.DefaultSampleType = "cpu"
	p.profile.Comments = []string{"made by otelpprof", "", "made by otelpprof"}
	p.profile.DropFrames, p.profile.KeepFrames = `runtime\..*`, `runtime\.main`
	p.profile.DocURL = "https://example.com/profiles"

	text := func(pairs ...string) *profile.Sample {
		s := &profile.Sample{Label: map[string][]string{}}
		for i := 0; i < len(pairs); i += 2 {
			s.Label[pairs[i]] = append(s.Label[pairs[i]], pairs[i+1])
		}
		return s
	}
	number := func(key, unit string, values ...int64) *profile.Sample {
		s := &profile.Sample{NumLabel: map[string][]int64{key: values}}
		if unit != "" {
			s.NumUnit = map[string][]string{key: make([]string, len(values))}
			for i := range values {
				s.NumUnit[key][i] = unit
			}
		}
		return s
	}
	both := text("key", "text")
	both.NumLabel = map[string][]int64{"key": {7}}
	unlike := number("size", "bytes", 1, 2)
	unlike.NumUnit["size"][1] = "kilobytes"
	spanNumber := text("trace id", trace)
	spanNumber.NumLabel = map[string][]int64{"span id": {67667974448284343}}

	for i, labels := range []*profile.Sample{
		text("thread.name", "worker-1", "route", "/checkout"),
		text("route", "/cart", "thread.name", "worker-1"),
		text("route", "/cart", "route", "/cart/items", "route", "/cart"),
		number("latency", "nanoseconds", 1500),
		number("bytes", "", 4096),
		number("bytes", "bytes", 4096, 8192, 0),
		number("empty", "bytes", 0),
		number("extreme", "", -1<<63, 1<<63-1),
		both,
		unlike,
		text("trace_id", trace, "span_id", span),
		text("trace_id", "0x4BF92F3577B34DA6A3CE929D0E0E4736", "span_id", "F067AA0BA902B7"),
		text("trace_id", "4bf92f35", "span_id", "2b7"),
		text("trace id", trace, "span id", "67667974448284343"),
		text("trace id", "11803532876627986230", "span id", "67667974448284343"),
		spanNumber,
		text("otel.traceid", trace),
		text("trace_id", trace),
		text("span_id", span),
		text("trace_id", "00000000000000000000000000000000", "span_id", "0000000000000000"),
		text("trace_id", "not hexadecimal", "span_id", span),
		text("trace_id", trace, "span_id", span, "thread.name", "wörker é"),
		nil,
	} {
		p.add(p.stack(4+p.random.IntN(8)), labels, int64(i+1), int64(i+1)*10_000_000)
	}
	return p.finish()
}
