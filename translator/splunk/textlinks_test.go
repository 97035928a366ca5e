// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestTextLinkAttributes: only those attributes of a text record are left out that its link already has.
func TestTextLinkAttributes(t *testing.T) {
	trace, span := pcommon.TraceID{1, 2, 3}, pcommon.SpanID{4, 5}
	ofRecord := func(trace pcommon.TraceID, span pcommon.SpanID) func(plog.LogRecord) {
		return func(r plog.LogRecord) {
			r.SetTraceID(trace)
			r.SetSpanID(span)
		}
	}
	none := func(plog.LogRecord) {}
	for name, test := range map[string]struct {
		record              func(plog.LogRecord)
		attributes          map[string]any
		options             []pprof.LinkLabels
		wantTrace, wantSpan string
		want                map[string]any
	}{
		"the same ids": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": trace.String(), "span_id": "0x405000000000000"},
			wantTrace: trace.String(), wantSpan: span.String(), want: map[string]any{},
		},
		"another trace": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": someTrace, "span_id": span.String()},
			wantTrace: trace.String(), wantSpan: span.String(), want: map[string]any{"trace_id.2": someTrace},
		},
		"another trace and span": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": someTrace, "span_id": someSpan, "trace_id.2": "x"},
			wantTrace: trace.String(), wantSpan: span.String(),
			want: map[string]any{"trace_id.2": "x", "trace_id.3": someTrace, "span_id.2": someSpan},
		},
		"another trace and a span, beside a trace without one": {
			record: ofRecord(trace, pcommon.SpanID{}), attributes: map[string]any{"trace_id": someTrace, "span_id": someSpan},
			wantTrace: trace.String(), want: map[string]any{"trace_id.2": someTrace, "span_id.2": someSpan},
		},
		"a span of the record without its trace": {
			record: ofRecord(pcommon.TraceID{}, span), attributes: map[string]any{"trace_id": someTrace, "span_id": someSpan},
			wantTrace: someTrace, wantSpan: someSpan, want: map[string]any{"span_id.2": span.String()},
		},
		"no ids": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": "main", "span_id": "root"},
			wantTrace: trace.String(), wantSpan: span.String(), want: map[string]any{"trace_id.2": "main", "span_id.2": "root"},
		},
		"attributes that are no ids": {
			record: none, attributes: map[string]any{"trace_id": "main", "span_id": int64(7)},
			want: map[string]any{"trace_id": "main", "span_id": int64(7)},
		},
		"a span of the record alone": {record: ofRecord(pcommon.TraceID{}, span), want: map[string]any{"span_id": span.String()}},
		"names that make no links": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": "0x" + trace.String(), "span_id": someSpan},
			options:   []pprof.LinkLabels{},
			wantTrace: trace.String(), wantSpan: span.String(), want: map[string]any{"span_id.2": someSpan},
		},
		"a span beside a trace without one": {
			record: ofRecord(trace, pcommon.SpanID{}), attributes: map[string]any{"span_id": someSpan},
			wantTrace: trace.String(), want: map[string]any{"span_id": someSpan},
		},
		"zeros": {
			record: ofRecord(trace, span), attributes: map[string]any{"trace_id": noTrace, "span_id": "0"},
			wantTrace: trace.String(), wantSpan: span.String(), want: map[string]any{},
		},
		"a span that is none": {
			record: none, attributes: map[string]any{"trace_id": someTrace, "span_id": "not-hex"},
			wantTrace: someTrace, want: map[string]any{"span_id": "not-hex"},
		},
		"another pair": {
			record: none, attributes: map[string]any{"trace_id": someTrace, "span_id": someSpan, "trace id": "255", "span id": int64(16)},
			options:   []pprof.LinkLabels{{Trace: "trace_id", Span: "span_id"}, {Trace: "trace id", Span: "span id", Decimal: true}},
			wantTrace: someTrace, wantSpan: someSpan, want: map[string]any{"trace id": "255", "span id": int64(16)},
		},
		"decimal": {
			record: none, attributes: map[string]any{"trace id": "255", "span id": int64(16)},
			options:   []pprof.LinkLabels{{Trace: "trace id", Span: "span id", Decimal: true}},
			wantTrace: "000000000000000000000000000000ff", wantSpan: "0000000000000010", want: map[string]any{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest("java")
			record := r.addText(oneFrame)
			test.record(record)
			for key, value := range test.attributes {
				assert.NoError(t, record.Attributes().PutEmpty(key).FromRaw(value))
			}
			pd, _ := mustDecode(t, r.logs, Options{LinkLabels: test.options})
			s := onlySample(t, pd)
			link := pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
			assert.Equal(t, test.wantTrace, link.TraceID().String())
			assert.Equal(t, test.wantSpan, link.SpanID().String())
			assert.Equal(t, test.want, attributesOf(pd, s.AttributeIndices()))

			for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
				require.NoError(t, err)
				again, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload.Pprof, pprof.Source{})
				require.NoError(t, err)
				link := again.Dictionary().LinkTable().At(int(onlySample(t, again).LinkIndex()))
				assert.Equal(t, test.wantTrace, link.TraceID().String(), "of a pprof of the profile")
				if test.wantSpan != "" {
					assert.Equal(t, test.wantSpan, link.SpanID().String())
				}
			}
		})
	}
}

// firstSampleOf returns the attributes of the first sample.
func firstSampleOf(pd pprofile.Profiles) map[string]any {
	return attributesOf(pd, profilesOf(pd)[0].Samples().At(0).AttributeIndices())
}

// TestJVMThreadState: the first word of the state in lower case, for Java, if the option is on.
func TestJVMThreadState(t *testing.T) {
	for _, test := range []struct {
		language, state string
		on              bool
		want            map[string]any
	}{
		{"java", "TIMED_WAITING (sleeping)", true, map[string]any{"jvm.thread.state": "timed_waiting"}},
		{"java", "RUNNABLE", true, map[string]any{"jvm.thread.state": "runnable"}},
		{"java", "BLOCKED (on object monitor)", true, map[string]any{"jvm.thread.state": "blocked"}},
		{"java", "PARKED", true, map[string]any{"thread.state": "PARKED"}},
		{"java", "RUNNABLE", false, map[string]any{"thread.state": "RUNNABLE"}},
		{"dotnet", "RUNNABLE", true, map[string]any{"thread.state": "RUNNABLE"}},
		{"java", "", true, map[string]any{}},
	} {
		p := newPayload("")
		p.sample([]uint64{p.location("f", "A.java", 1)}, nil, at(1), label{key: "thread.state", text: test.state})
		p.sample([]uint64{p.location("g", "A.java", 1)}, nil, at(1), label{key: "thread.state", text: test.state})
		r := newRequest(test.language)
		r.addPprof(p.body(t))
		pd, _ := mustDecode(t, r.logs, Options{JVMThreadState: test.on})
		assert.Equal(t, test.want, firstSampleOf(pd), test.state)

		if test.state != "" {
			r = newRequest(test.language)
			r.addText("\"main\" #1 prio=0\n   java.lang.Thread.State: " + test.state + "\n\tat a.B.c(B.java:1)\n")
			pd, _ = mustDecode(t, r.logs, Options{JVMThreadState: test.on})
			got := firstSampleOf(pd)
			for key, value := range test.want {
				assert.Equal(t, value, got[key], "text: "+test.state)
			}
		}
	}
}

// TestNativeMethod: native methods of Java have the frame type native.
func TestNativeMethod(t *testing.T) {
	p := newPayload("")
	p.sample([]uint64{p.location("sleep", "Native Method", 0), p.location("run", "Thread.java", 7)}, nil, at(1))
	r := newRequest("java")
	r.addPprof(p.body(t))
	r.addText("\"main\" #1 prio=0\n   java.lang.Thread.State: RUNNABLE\n" +
		"\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat a.B.c(B.java:1)\n")
	pd, _ := mustDecode(t, r.logs, Options{})
	types := map[string]any{}
	for i, l := range pd.Dictionary().LocationTable().All() {
		if i > 0 {
			function := pd.Dictionary().FunctionTable().At(int(l.Lines().At(0).FunctionIndex()))
			types[stringAt(pd, function.NameStrindex())] = attributesOf(pd, l.AttributeIndices())["profile.frame.type"]
		}
	}
	assert.Equal(t, map[string]any{"sleep": "native", "run": "jvm", "java.lang.Thread.sleep": "native", "a.B.c": "jvm"}, types)
}
