// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
)

// A small request must not occupy a CPU for long: these requests take milliseconds. When the cost was the product of two sizes of the
// request, they took far longer than slow.
const slow = 5 * time.Second

func assertFast(t *testing.T, what string, do func()) {
	t.Helper()
	assert.Less(t, profiletest.CPUTime(do), slow, what)
}

// addWide adds n attributes. Map.Put would look for each of them.
func addWide(t *testing.T, attributes pcommon.Map, n int) {
	t.Helper()
	pairs := attributes.AsRaw()
	for i := range n {
		pairs[fmt.Sprint("key ", i)] = int64(i)
	}
	require.NoError(t, attributes.FromRaw(pairs))
}

// TestManyScopesOfOneWideResource: the attributes of a resource are not searched for each of its scopes, also in requests without a
// profiling record.
func TestManyScopesOfOneWideResource(t *testing.T) {
	const n = 100_000
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	addWide(t, resource.Resource().Attributes(), n)
	for range n {
		resource.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("ordinary")
	}
	assertFast(t, "Decode", func() {
		_, result := mustDecode(t, logs, Options{})
		assert.Equal(t, n, result.OtherRecords)
	})
	assertFast(t, "RemoveProfiling", func() { assert.Zero(t, RemoveProfiling(logs)) })
}

// TestManyRecordsOfOneWideResource: the attributes of a resource are hashed once for all ids.
func TestManyRecordsOfOneWideResource(t *testing.T) {
	const attributes, records = 20_000, 1_000
	emptySample := []byte{2<<3 | 2, 0, 6<<3 | 2, 0}
	pprofs, texts := newRequest("java"), newRequest("java")
	for i := range records {
		pprofs.add("").Body().SetEmptyBytes().FromRaw(emptySample)
		texts.addText(oneFrame, "source.event.period", i+1)
	}
	for name, r := range map[string]request{"pprofs": pprofs, "texts": texts} {
		addWide(t, r.logs.ResourceLogs().At(0).Resource().Attributes(), attributes)
		assertFast(t, name, func() {
			pd, _ := mustDecode(t, r.logs, Options{})
			assert.Len(t, profilesOf(pd), records)
		})
	}
}

// TestManyRecordsOfOneRefusedResource: the attributes of a resource that needs too much memory are not measured for each record.
func TestManyRecordsOfOneRefusedResource(t *testing.T) {
	const attributes, records = 100_000, 20_000
	r := newRequest("java")
	addWide(t, r.logs.ResourceLogs().At(0).Resource().Attributes(), attributes)
	for range records {
		r.addText(oneFrame)
	}
	assertFast(t, "Decode", func() {
		_, result := NewDecoder(Options{}).Decode(r.logs, received, func(int64) error { return errors.New("no memory") })
		assert.Len(t, result.Refused, records)
	})
}

// TestManyLongSampleTypes: the long names of 256 sample types are not hashed for the id of each profile.
func TestManyLongSampleTypes(t *testing.T) {
	const types, records = 256, 500
	long := strings.Repeat("x", 64<<10-1)
	p := newPayload("")
	values := make([]int64, types)
	for i := range values {
		p.sampleType(long, long)
		values[i] = 1
	}
	p.sample([]uint64{p.location("work", "main.js", 7)}, values)
	r, body := newRequest("nodejs"), p.body(t)
	for range records {
		r.addPprof(body)
	}
	assertFast(t, "Decode", func() {
		pd, _ := mustDecode(t, r.logs, Options{})
		assert.Len(t, profilesOf(pd), types*records)
	})
}

// TestIDIsOfResourceAndBody: each record of a resource has the id that it has alone.
func TestIDIsOfResourceAndBody(t *testing.T) {
	r := newRequest("nodejs")
	bodies := []string{onePayload().body(t), interleaved().body(t), onePayload(num("a", 1)).body(t)}
	for _, body := range bodies {
		r.addPprof(body)
	}
	pd, _ := mustDecode(t, r.logs, Options{})
	for i, profile := range profilesOf(pd) {
		hash := profileid.NewHash()
		hash.Attributes(r.logs.ResourceLogs().At(0).Resource().Attributes())
		hash.Bytes([]byte(bodies[i]))
		ids := hash.IDs()
		assert.Equal(t, ids.Next("cpu", "nanoseconds"), profile.ProfileID())
	}
}

// manyLabels returns a request with a pprof of many samples, which differ in a span id and have this label 1,000 times each.
func manyLabels(t *testing.T, first string, samples int, repeated label) plog.Logs {
	t.Helper()
	p := newPayload(first)
	labels := make([]label, 1_000)
	for i := range labels {
		labels[i] = repeated
	}
	for i := range samples {
		p.sample(nil, nil, append(labels, num("span_id", int64(i)))...)
	}
	r := newRequest("java")
	r.addPprof(p.body(t))
	return r.logs
}

// TestLongTextOfManyLabels: a text of 64 KiB is not read for each label that has it.
func TestLongTextOfManyLabels(t *testing.T) {
	long := strings.Repeat("0", 64<<10)
	for _, test := range []struct {
		name    string
		first   string
		samples int
		label   label
		want    map[string]any
	}{
		{"an id", "", 300, str("trace_id", long), map[string]any{"trace_id": long}},
		{"a key in string zero", long, 1_000, num(long, 7), map[string]any{long: int64(7)}},
		{"the state of a thread", "", 600, str("thread.state", long), map[string]any{"thread.state": long}},
	} {
		logs := manyLabels(t, test.first, test.samples, test.label)
		assertFast(t, test.name, func() {
			pd, result := mustDecode(t, logs, Options{JVMThreadState: true})
			assert.Equal(t, 999*test.samples, result.Repairs.RepeatedLabels)
			got := attributesOf(pd, profilesOf(pd)[0].Samples().At(1).AttributeIndices())
			test.want["span_id"] = int64(1)
			assert.Equal(t, test.want, got, test.name)
		})
	}
}

// field appends a field in the wire format of protobuf.
func field(dst []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), content)
}

// attribute returns an attribute with a text in the wire format of protobuf.
func attribute(key, text string) []byte {
	return field(field(nil, 1, []byte(key)), 2, field(nil, 1, []byte(text)))
}

// TestManySpanIDsOfOneText: the trace id in the attributes of a text record is not searched, nor read, for each of its span ids.
func TestManySpanIDsOfOneText(t *testing.T) {
	for _, test := range []struct {
		name  string
		n     int
		trace string
		want  map[string]any
	}{
		{"no trace id", 100_000, "", map[string]any{"span_id": "x"}},
		{"a long trace id", 20_000, strings.Repeat("0", 1<<20), map[string]any{"span_id": "x"}},
		{"another trace id", 100_000, someTrace, map[string]any{"trace_id.2": someTrace, "span_id.2": "x"}},
	} {
		record := field(nil, 5, field(nil, 1, []byte("a:1")))
		for range test.n {
			record = field(record, 6, attribute("span_id", "x"))
		}
		if test.trace != "" {
			record = field(record, 6, attribute("trace_id", test.trace))
		}
		record = field(record, 9, bytes.Repeat([]byte{1}, 16))
		scope := field(field(nil, 1, field(nil, 1, []byte("otel.profiling"))), 2, record)
		logs := capture{test.name, field(nil, 1, field(nil, 2, scope))}.logs(t)
		assertFast(t, test.name, func() {
			pd, _ := mustDecode(t, logs, Options{})
			assert.Equal(t, test.want, attributesOf(pd, onlySample(t, pd).AttributeIndices()))
		})
	}
}

// TestDeepValues: a record is refused if an attribute of it, its scope or its resource is nested too deep. The other
// records are accepted. A thousandth of this depth would overflow the stack.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	const stack = "\"main\" #1\n\tat f(a.js:1)\n"
	for place, test := range map[string]struct {
		of      func(request) pcommon.Map
		refused int
	}{
		"resource": {func(r request) pcommon.Map { return r.logs.ResourceLogs().At(0).Resource().Attributes() }, 3},
		"scope":    {func(r request) pcommon.Map { return r.scope.Scope().Attributes() }, 3},
		"text":     {func(r request) pcommon.Map { return r.scope.LogRecords().At(0).Attributes() }, 1},
		"pprof":    {func(r request) pcommon.Map { return r.scope.LogRecords().At(1).Attributes() }, 1},
	} {
		t.Run(place, func(t *testing.T) {
			made := func(levels int) request {
				r := newRequest("nodejs")
				r.addText(stack)
				r.addPprof(onePayload().body(t))
				r.addText(stack)
				profiletest.Nest(test.of(r).PutEmpty("deep"), levels)
				other := newRequest("java")
				other.addText(stack)
				other.logs.ResourceLogs().MoveAndAppendTo(r.logs.ResourceLogs())
				return r
			}
			r := made(1_000_000)
			pd, result := NewDecoder(Options{}).Decode(r.logs, received, nil)
			assert.Equal(t, 4, result.Records)
			assert.Equal(t, 4-test.refused, result.PprofRecords+result.TextRecords)
			assert.Positive(t, pd.SampleCount())
			require.Len(t, result.Refused, test.refused)
			for _, refused := range result.Refused {
				assert.Equal(t, ReasonTooDeep, refused.Reason)
				assert.ErrorContains(t, refused.Err, `attribute "deep" is too deep: at least 33 lists or maps within one another, the limit is 32`)
			}
			assert.Equal(t, 4, RemoveProfiling(r.logs))

			_, result = NewDecoder(Options{}).Decode(made(attributevalue.MaxDepth).logs, received, nil)
			assert.Empty(t, result.Refused)
		})
	}
}

// TestDeepBodies: bodies that are lists or maps. No agent sends them.
func TestDeepBodies(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	r := newRequest("nodejs")
	profiletest.Nest(r.addText("").Body(), 1_000_000)
	_, result := NewDecoder(Options{}).Decode(r.logs, received, nil)
	require.Len(t, result.Refused, 1)
	assert.Equal(t, ReasonBody, result.Refused[0].Reason)
}

// TestTextLinearTime: the time grows linearly with the text.
func TestTextLinearTime(t *testing.T) {
	tokens := []string{" ", "\t", "\v", "\r", "\n", `"`, `" #1 `, "#1", "=", "nid=1 ", "a", "(", ")", ":1", ": 1", "@1/", "at ", "at a(b:1)\n", "- x\n", "\n\n", "Thread.State:"}
	const maxLine = 1 << 20 // maxStringBytes is less than some of the texts, which have one line.
	var x text
	for _, grammar := range []grammar{grammarJava, grammarDotnet, grammarCommon} {
		for _, head := range []string{"", `"`, "\n\nat a("} {
			profiletest.CheckLinear(t, head, ")", tokens, func(body []byte) {
				_ = x.parse(body, grammar, maxLine, DefaultLimits().FramesPerStack)
			})
		}
	}
}

// TestBodyLinearTime: the time to decode base64 grows linearly with the body.
func TestBodyLinearTime(t *testing.T) {
	profiletest.CheckLinear(t, "H4sI", "=", []string{"A", " ", "\n", "=", "-", "(", "A A="}, func(body []byte) {
		beginsLikeGzip(body)
		_ = decodedLen(body, 1)
		_, _ = appendBase64(nil, body)
	})
}
