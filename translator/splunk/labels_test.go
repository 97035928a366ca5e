// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	someTrace = "0af7651916cd43dd8448eb211c80319c"
	someSpan  = "b7ad6b7169203331"
	noTrace   = "00000000000000000000000000000000"
	noSpan    = "0000000000000000"
)

// TestLinks checks which ids make a link, and which stay attributes.
func TestLinks(t *testing.T) {
	datadog := []pprof.LinkLabels{{Trace: "trace_id", Span: "span_id"}, {Trace: "trace id", Span: "span id", Decimal: true}}
	type link struct{ trace, span string }
	for _, test := range []struct {
		name       string
		options    []pprof.LinkLabels
		labels     []label
		want       link
		attributes map[string]any
	}{
		{name: "none", want: link{}},
		{name: "both", labels: []label{str("trace_id", someTrace), str("span_id", someSpan)}, want: link{someTrace, someSpan}},
		{name: "both, in .NET's order", labels: []label{str("span_id", someSpan), str("trace_id", someTrace)}, want: link{someTrace, someSpan}},
		{name: "not padded, as Python has them", labels: []label{str("trace_id", "b69a6755c414461f4ec7fcdb41612"), str("span_id", "7d91eadf220b83")}, want: link{"000b69a6755c414461f4ec7fcdb41612", "007d91eadf220b83"}},
		{name: "with 0x and upper case", labels: []label{str("trace_id", "0x0AF7651916CD43DD8448EB211C80319C"), str("span_id", "0xB7AD6B7169203331")}, want: link{someTrace, someSpan}},
		{name: "zeros", labels: []label{str("trace_id", noTrace), str("span_id", noSpan)}},
		{name: "Python's zeros", labels: []label{str("trace_id", "0000000000000000"), str("span_id", "00000000")}},
		{name: "more zeros than any id has", labels: []label{str("trace_id", strings.Repeat("0", 100))}, attributes: map[string]any{"trace_id": strings.Repeat("0", 100)}},
		{name: "empty", labels: []label{str("trace_id", ""), str("span_id", "")}},
		{name: "a trace only", labels: []label{str("trace_id", someTrace)}, want: link{someTrace, ""}},
		{name: "a trace and a span of zeros", labels: []label{str("trace_id", someTrace), str("span_id", noSpan)}, want: link{someTrace, ""}},
		{name: "a span only", labels: []label{str("span_id", someSpan)}, attributes: map[string]any{"span_id": someSpan}},
		{name: "a trace of zeros and a span", labels: []label{str("trace_id", noTrace), str("span_id", someSpan)}, attributes: map[string]any{"span_id": someSpan}},
		{name: "a trace that is none", labels: []label{str("trace_id", "main"), str("span_id", someSpan)}, attributes: map[string]any{"trace_id": "main", "span_id": someSpan}},
		{name: "a span that is none", labels: []label{str("trace_id", someTrace), str("span_id", "root")}, want: link{someTrace, ""}, attributes: map[string]any{"span_id": "root"}},
		{name: "a number is no id", labels: []label{num("trace_id", 7), str("span_id", someSpan)}, attributes: map[string]any{"trace_id": int64(7), "span_id": someSpan}},
		{name: "twice", labels: []label{str("trace_id", someTrace), str("trace_id", "ff"), str("span_id", someSpan)}, want: link{someTrace, someSpan}, attributes: map[string]any{"trace_id": "ff"}},
		{
			name: "other labels", options: datadog, labels: []label{str("trace id", "255"), num("span id", 16)},
			want: link{"000000000000000000000000000000ff", "0000000000000010"},
		},
		{
			name: "the first pair counts", options: datadog,
			labels:     []label{str("trace id", "255"), num("span id", 16), str("trace_id", someTrace), str("span_id", someSpan)},
			want:       link{someTrace, someSpan},
			attributes: map[string]any{"trace id": "255", "span id": int64(16)},
		},
		{
			name: "no labels make links", options: []pprof.LinkLabels{}, labels: []label{str("trace_id", someTrace), str("span_id", someSpan)},
			attributes: map[string]any{"trace_id": someTrace, "span_id": someSpan},
		},
		{
			name: "the trace alone by choice", options: []pprof.LinkLabels{{Trace: "trace_id"}}, labels: []label{str("trace_id", someTrace), str("span_id", someSpan)},
			want: link{someTrace, ""}, attributes: map[string]any{"span_id": someSpan},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			pd, _ := decodePayload(t, onePayload(test.labels...), Options{LinkLabels: test.options})
			s := onlySample(t, pd)
			found := pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
			assert.Equal(t, test.want, link{found.TraceID().String(), found.SpanID().String()})
			assert.Equal(t, test.want == link{}, s.LinkIndex() == 0)
			if test.attributes == nil {
				test.attributes = map[string]any{}
			}
			assert.Equal(t, test.attributes, attributesOf(pd, s.AttributeIndices()))
		})
	}
}

// TestLabels checks the translation of all other labels.
func TestLabels(t *testing.T) {
	for _, test := range []struct {
		name   string
		labels []label
		want   map[string]any
	}{
		{"a thread", []label{num("thread.id", 17), str("thread.name", "main"), num("thread.os.id", 99), str("thread.state", "WAITING (on object monitor)")}, map[string]any{
			"thread.id": int64(17), "thread.name": "main", "thread.os.id": int64(99), "thread.state": "WAITING (on object monitor)",
		}},
		{"an id above 32 bits", []label{num("thread.id", 140461786597056)}, map[string]any{"thread.id": int64(140461786597056)}},
		{"an id of 0", []label{num("thread.id", 0), num("thread.os.id", 0)}, map[string]any{}},
		{"an id of -1", []label{num("thread.id", -1)}, map[string]any{}},
		{"names that are keys only", []label{str("thread.name", ""), str("thread.state", ""), str("source.event.name", "")}, map[string]any{}},
		{"truncated", []label{str("thread.stack.truncated", "true")}, map[string]any{"thread.stack.truncated": true}},
		{"truncated in C#", []label{str("thread.stack.truncated", "True")}, map[string]any{"thread.stack.truncated": true}},
		{"truncated as a number", []label{num("thread.stack.truncated", 1)}, map[string]any{"thread.stack.truncated": true}},
		{"a name that is a number", []label{num("thread.name", 5)}, map[string]any{"thread.name": int64(5)}},
		{"truncated by some measure", []label{str("thread.stack.truncated", "at 512")}, map[string]any{"thread.stack.truncated": "at 512"}},
		{"not truncated", []label{str("thread.stack.truncated", "false")}, map[string]any{}},
		{"locks and samplers", []label{str("lock.held.0", "A@1"), str("sampler.limit", "150/s"), num("sampler.interval", 5)}, map[string]any{
			"lock.held.0": "A@1", "sampler.limit": "150/s", "sampler.interval": int64(5),
		}},
		{"a job", []label{str("profiling.job.id", "7")}, map[string]any{"profiling.job.id": "7"}},
		{"an unknown one without a value", []label{num("acme", 0)}, map[string]any{"acme": int64(0)}},
		{"a key twice", []label{str("acme", "first"), str("acme", "second"), num("thread.id", 1), num("thread.id", 2)}, map[string]any{"acme": "first", "thread.id": int64(1)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pd, _ := decodePayload(t, onePayload(test.labels...), Options{})
			assert.Equal(t, test.want, attributesOf(pd, onlySample(t, pd).AttributeIndices()))
		})
	}
}

func TestLabelUnits(t *testing.T) {
	pd, _ := decodePayload(t, onePayload(label{key: "size", number: 7, unit: "bytes"}), Options{})
	index := onlySample(t, pd).AttributeIndices().At(0)
	a := pd.Dictionary().AttributeTable().At(int(index))
	assert.Equal(t, "bytes", stringAt(pd, a.UnitStrindex()))
	assert.EqualValues(t, 7, a.Value().Int())
}

// TestKeyInStringZero: a key of 0 means string 0, as the Python agent writes it.
func TestKeyInStringZero(t *testing.T) {
	for _, first := range []string{"source.event.time", "source.event.period", "thread.name", "trace_id"} {
		p := newPayload(first)
		p.sample([]uint64{p.location("f", "a.py", 1)}, nil,
			at(5000), period(1000), str("thread.name", "main"), str("trace_id", someTrace), str("span_id", someSpan))
		pd, _ := decodePayload(t, p, Options{})
		s := onlySample(t, pd)
		assert.Equal(t, []uint64{5_000_000_000}, s.TimestampsUnixNano().AsRaw(), first)
		assert.Equal(t, []int64{1_000_000_000}, s.Values().AsRaw(), first)
		assert.Equal(t, map[string]any{"thread.name": "main"}, attributesOf(pd, s.AttributeIndices()), first)
		assert.NotZero(t, s.LinkIndex(), first)
	}
}

// TestTimes checks the source of the time of an event.
func TestTimes(t *testing.T) {
	const second = uint64(1_000_000_000)
	for _, test := range []struct {
		name           string
		label          []label
		time, observed pcommon.Timestamp
		want           uint64
		noTime         int
		ignored        int
	}{
		{name: "its own", label: []label{at(3000)}, time: 9, want: 3 * second},
		{name: "its own, as text", label: []label{str("source.event.time", "3000")}, time: 9, want: 3 * second},
		{name: "the first of two", label: []label{at(3000), at(4000)}, want: 3 * second},
		{name: "that of the record", time: 7, observed: 8, want: 7},
		{name: "when the record was observed", observed: 8, want: 8},
		{name: "when it was received", want: uint64(received), noTime: 1},
		{name: "0", label: []label{at(0)}, time: 7, want: 7, ignored: 1},
		{name: "below 0", label: []label{at(-5)}, time: 7, want: 7, ignored: 1},
		{name: "no number", label: []label{str("source.event.time", "noon")}, time: 7, want: 7, ignored: 1},
		{name: "more than nanoseconds can count", label: []label{at(math.MaxInt64 / 1_000_000 * 2)}, time: 7, want: 7, ignored: 1},
		{name: "a time of the record that is none", time: math.MaxUint64, observed: 8, want: 8},
		{name: "the last that nanoseconds can count", label: []label{at(math.MaxInt64 / 1_000_000)}, want: math.MaxInt64 / 1_000_000 * 1_000_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPayload("")
			p.sample([]uint64{p.location("f", "a.js", 1)}, nil, append([]label{period(10)}, test.label...)...)
			r := newRequest("nodejs")
			record := r.addPprof(p.body(t))
			record.SetTimestamp(test.time)
			record.SetObservedTimestamp(test.observed)
			pd, result := mustDecode(t, r.logs, Options{})
			assert.Equal(t, []uint64{test.want}, onlySample(t, pd).TimestampsUnixNano().AsRaw())
			assert.Equal(t, Repairs{NoTime: test.noTime, IgnoredNumbers: test.ignored}, result.Repairs)
			assert.EqualValues(t, test.want, profilesOf(pd)[0].Time())
		})
	}
}

// TestRecordAttributes checks the translation of the attributes of a pprof record.
func TestRecordAttributes(t *testing.T) {
	pd, _ := decodePayload(t, onePayload(), Options{},
		"profiling.data.total.frame.count", 17, "profiling.instrumentation.source", "continuous", "source.event.name", "jdk.ThreadDump",
		"acme.tag", "x", "acme.list", []any{"a", int64(1)}, "source.event.period", 10, "bad\xff", "bad\xff")
	p := profilesOf(pd)[0]
	assert.Equal(t, map[string]any{
		"profiling.instrumentation.source": "continuous",
		"source.event.name":                "jdk.ThreadDump",
		"acme.tag":                         "x",
		"acme.list":                        []any{"a", int64(1)},
		"bad\uFFFD":                        "bad\uFFFD",
	}, attributesOf(pd, p.AttributeIndices()))
	assert.Empty(t, attributesOf(pd, onlySample(t, pd).AttributeIndices()))
}

// TestEventNames: a name that all events have becomes an attribute of the profile, other names become attributes of their
// samples.
func TestEventNames(t *testing.T) {
	build := func(names ...string) *payload {
		p := newPayload("")
		id := p.location("f", "a.js", 1)
		for i, name := range names {
			p.sample([]uint64{id}, nil, at(int64(i+1)), period(1), str("source.event.name", name), str("thread.name", "main"))
		}
		return p
	}
	t.Run("one", func(t *testing.T) {
		pd, _ := decodePayload(t, build("a", "a"), Options{})
		assert.Equal(t, map[string]any{"source.event.name": "a"}, attributesOf(pd, profilesOf(pd)[0].AttributeIndices()))
		s := onlySample(t, pd)
		assert.Equal(t, map[string]any{"thread.name": "main"}, attributesOf(pd, s.AttributeIndices()))
		assert.Equal(t, 2, s.Values().Len())
	})
	t.Run("several", func(t *testing.T) {
		pd, _ := decodePayload(t, build("a", "b", "", "a"), Options{})
		p := profilesOf(pd)[0]
		assert.Empty(t, attributesOf(pd, p.AttributeIndices()))
		require.Equal(t, 3, p.Samples().Len())
		assert.Equal(t, map[string]any{"thread.name": "main", "source.event.name": "a"}, attributesOf(pd, p.Samples().At(0).AttributeIndices()))
		assert.Equal(t, []uint64{1_000_000, 4_000_000}, p.Samples().At(0).TimestampsUnixNano().AsRaw())
		assert.Equal(t, map[string]any{"thread.name": "main", "source.event.name": "b"}, attributesOf(pd, p.Samples().At(1).AttributeIndices()))
		assert.Equal(t, map[string]any{"thread.name": "main"}, attributesOf(pd, p.Samples().At(2).AttributeIndices()))
	})
}

// TestLongEventName: the name that a record gives its events is read and mended once, not for each of them.
func TestLongEventName(t *testing.T) {
	const samples, length = 200, 256 << 10
	p := newPayload("")
	for i := range samples {
		p.sample([]uint64{p.location("work", "main.js", 7)}, nil, num("k", int64(i)))
	}
	r := newRequest("nodejs")
	r.addPprof(p.body(t), "source.event.name", "\xff"+strings.Repeat("n", length))
	var pd pprofile.Profiles
	var result Result
	used := memorytest.Allocated(func() { pd, result = NewDecoder(Options{}).Decode(r.logs, received, nil) })
	require.Empty(t, result.Refused)
	assert.Less(t, used, int64(samples*length/4))
	assert.Equal(t, 1, result.Repairs.InvalidUTF8)
	require.Len(t, profilesOf(pd), 1)
	attributes := attributesOf(pd, profilesOf(pd)[0].AttributeIndices())
	assert.Equal(t, "\uFFFD"+strings.Repeat("n", length), attributes["source.event.name"])
}
