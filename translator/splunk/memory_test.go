// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// translating returns the translation of a request. Its error is that of the first refused record.
func translating(logs plog.Logs) memorytest.Work {
	return func(reserve func(int64) error) error {
		_, result := NewDecoder(Options{}).Decode(logs, received, reserve)
		if len(result.Refused) == 0 {
			return nil
		}
		return result.Refused[0].Err
	}
}

// pprofRecord returns a request with a pprof.
func pprofRecord(t *testing.T, raw []byte) plog.Logs {
	t.Helper()
	r := newRequest("nodejs")
	r.addPprof(base64.StdEncoding.EncodeToString(profiletest.Gzip(t, raw)))
	return r.logs
}

// emptyString is a pprof with an empty string.
var emptyString = []byte{6<<3 | 2, 0}

// hostileRecords has requests with many entries of one kind.
func hostileRecords(t *testing.T) map[string]plog.Logs {
	t.Helper()
	text := newRequest("java")
	frames := &strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(frames, "f%d(F%d.java:%d)\n", i, i, i)
	}
	for range 3 {
		text.addText(frames.String())
	}
	keys := newPayload("")
	values := newPayload("")
	for s := range 20 {
		labels, numbers := make([]label, 1000), make([]label, 1000)
		for i := range labels {
			labels[i], numbers[i] = str(fmt.Sprint("k", s*1000+i), "v"), num(fmt.Sprint("k", i), int64(s))
		}
		keys.sample(nil, nil, labels...)
		values.sample(nil, nil, numbers...)
	}
	attributes := newRequest("nodejs")
	attributes.addPprof(onePayload().body(t))
	list := attributes.logs.ResourceLogs().At(0).Resource().Attributes().PutEmptySlice("list")
	for range 200_000 {
		list.AppendEmpty().SetEmptyMap()
	}
	list.CopyTo(attributes.logs.ResourceLogs().At(0).ScopeLogs().At(0).Scope().Attributes().PutEmptySlice("list"))
	scopes, periods := newRequest("java"), newRequest("java")
	for i := range 5_000 {
		scope := scopes.logs.ResourceLogs().At(0).ScopeLogs().AppendEmpty()
		scope.Scope().SetName("otel.profiling")
		scope.Scope().SetVersion(strconv.Itoa(i))
		scope.LogRecords().AppendEmpty().Body().SetStr(oneFrame)
		periods.addText(oneFrame, "source.event.period", i)
	}
	resources, body := newRequest("java"), onePayload().body(t)
	for i := range 5_000 {
		resource := resources.logs.ResourceLogs().AppendEmpty()
		resource.SetSchemaUrl(fmt.Sprintf("https://example.com/schema/%0200d", i))
		scope := resource.ScopeLogs().AppendEmpty()
		scope.Scope().SetName("otel.profiling")
		scope.LogRecords().AppendEmpty().Body().SetStr(body)
	}
	types, p := newRequest("nodejs"), newPayload("")
	for range 256 {
		p.sampleType("a", "b")
	}
	p.sample(nil, make([]int64, 256))
	addWide(t, types.add(p.body(t)).Attributes(), 3_500)
	wide := newRequest("java")
	wide.addText(oneFrame)
	addWide(t, wide.logs.ResourceLogs().At(0).Resource().Attributes(), 100_000)
	return map[string]plog.Logs{
		"attributes":    attributes.logs,
		"texts":         text.logs,
		"scopes":        scopes.logs,
		"periods":       periods.logs,
		"resources":     resources.logs,
		"wide resource": wide.logs,
		"wide types":    types.logs,
		"keys":          pprofRecord(t, keys.bytes()),
		"numbers":       pprofRecord(t, values.bytes()),
		"empty samples": pprofRecord(t, append(emptyString, bytes.Repeat([]byte{2<<3 | 2, 0}, 200_000)...)),
		"empty strings": pprofRecord(t, bytes.Repeat(emptyString, 200_000)),
	}
}

// TestMemoryOfRecords: a translation uses what it reserves. It does not end when a record is refused.
func TestMemoryOfRecords(t *testing.T) {
	requests := hostileRecords(t)
	requests["capture"] = captureOf(t, "splunk-otel-java/pprof-v2-snapshot.pb")
	// Each string may become an entry of the dictionary. Equal ones use less than a quarter of that.
	exceptions := map[string]int64{"empty strings": 5}
	for name, logs := range requests {
		t.Run(name, func(t *testing.T) {
			memorytest.CheckComplete(t, max(memorytest.Most, exceptions[name]), translating(logs))
		})
	}
	malformed := pprofRecord(t, append(emptyString, bytes.Repeat([]byte{3<<3 | 2, 0}, 4_000_000)...))
	t.Run("empty mappings", func(t *testing.T) { memorytest.CheckCovered(t, translating(malformed)) })
}

// TestMemoryOfLongTexts: the same for records with a long text, wherever it is.
func TestMemoryOfLongTexts(t *testing.T) {
	const length = 512 << 10
	p := newPayload("")
	p.sampleType("cpu", "nanoseconds")
	p.sample([]uint64{p.location("work(int)", "main.js", 7)}, []int64{1}, at(1000), period(1000), num("thread.id", 3), str("thread.name", "main"),
		str("trace_id", "0af7651916cd43dd8448eb211c80319c"), str("span_id", "b7ad6b7169203331"), str("thread.stack.truncated", "true"), str("k", "v"))
	text := `"main" #1 prio=5 cpu=1.5ms tid=0x7f nid=0x28 runnable [0x7f]` + "\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(D.java:5)\n\tat app(/x/y.js:3:4)\n"
	for _, part := range []string{"a", "0", " ", "\xff", "\xffa", "\"", "("} {
		for raw := range profiletest.LongStrings(p.bytes(), part, length) {
			memorytest.CheckCovered(t, translating(pprofRecord(t, raw)))
			if t.Failed() {
				t.Fatalf("%q: %.300q", part, bytes.ReplaceAll(raw, []byte(strings.Repeat(part, length)), []byte("LONG")))
			}
		}
		for at := range len(text) + 1 {
			r := newRequest("java")
			r.addText(text[:at] + strings.Repeat(part, length) + text[at:])
			memorytest.CheckCovered(t, translating(r.logs))
			if t.Failed() {
				t.Fatalf("%q of 512 KiB before %q", part, text[at:])
			}
		}
	}
}

// TestMemoryOfMendedComments: comments that are not UTF-8 are reserved as long as they become, however often a string is repeated.
func TestMemoryOfMendedComments(t *testing.T) {
	long, comments := strings.Repeat("\xffa", 32<<10), 10_000
	for name, text := range map[string]func(i int) string{
		"one long string": func(int) string { return long },
		"long strings":    func(i int) string { return long[i%100:] },
		"short strings":   func(i int) string { return fmt.Sprint("\xff", i) },
	} {
		p, h := newPayload(""), pprofwire.Header{}
		p.sample([]uint64{p.location("work", "main.js", 7)}, []int64{1})
		for i := range min(comments, 25<<20/len(text(0))) {
			h.Comments = append(h.Comments, p.string(text(i)))
		}
		logs := pprofRecord(t, pprofwire.AppendHeader(p.bytes(), h))
		memorytest.CheckCovered(t, translating(logs))
		pd, result := NewDecoder(Options{}).Decode(logs, received, nil)
		require.Empty(t, result.Refused, name)
		require.NoError(t, profiletest.Check(pd), name)
		assert.GreaterOrEqual(t, result.MessageBytes, dictionary.MessageMemory(pd), name)
	}
}

// TestMemoryOfMendedAttributes: texts of a request that are not UTF-8 are reserved, and counted, as long as they become.
func TestMemoryOfMendedAttributes(t *testing.T) {
	bad := strings.Repeat("\xffa", 1<<20)
	for name, set := range map[string]func(resource plog.ResourceLogs, scope plog.ScopeLogs, record plog.LogRecord){
		"resource": func(resource plog.ResourceLogs, _ plog.ScopeLogs, _ plog.LogRecord) {
			resource.Resource().Attributes().PutStr("x", bad)
		},
		"schema": func(resource plog.ResourceLogs, _ plog.ScopeLogs, _ plog.LogRecord) { resource.SetSchemaUrl(bad) },
		"entity": func(resource plog.ResourceLogs, _ plog.ScopeLogs, _ plog.LogRecord) {
			entity.ResourceEntityRefs(resource.Resource()).AppendEmpty().IdKeys().Append(bad)
		},
		"scope": func(_ plog.ResourceLogs, scope plog.ScopeLogs, _ plog.LogRecord) {
			scope.Scope().Attributes().PutEmptySlice("x").AppendEmpty().SetStr(bad)
		},
		"version": func(_ plog.ResourceLogs, scope plog.ScopeLogs, _ plog.LogRecord) { scope.Scope().SetVersion(bad) },
		"record": func(_ plog.ResourceLogs, _ plog.ScopeLogs, record plog.LogRecord) {
			record.Attributes().PutStr("x", bad)
		},
		"key": func(_ plog.ResourceLogs, _ plog.ScopeLogs, record plog.LogRecord) {
			record.Attributes().PutStr(bad, "x")
		},
		"name": func(_ plog.ResourceLogs, _ plog.ScopeLogs, record plog.LogRecord) {
			record.Attributes().PutStr("source.event.name", bad)
		},
		"source": func(_ plog.ResourceLogs, _ plog.ScopeLogs, record plog.LogRecord) {
			record.Attributes().PutStr("profiling.instrumentation.source", bad)
		},
	} {
		for format, body := range map[string]string{"pprof": onePayload().body(t), "text": oneFrame} {
			r := newRequest("java")
			record := r.add(body)
			set(r.logs.ResourceLogs().At(0), r.scope, record)
			t.Run(name+" "+format, func(t *testing.T) {
				memorytest.CheckCovered(t, translating(r.logs))
				pd, result := mustDecode(t, r.logs, Options{})
				require.NoError(t, profiletest.Check(pd))
				assert.GreaterOrEqual(t, result.MessageBytes, dictionary.MessageMemory(pd))
			})
		}
	}
}

// TestMemoryOfRefusals: the errors of many refused records are reserved.
func TestMemoryOfRefusals(t *testing.T) {
	empty, base64, format := newRequest("java"), newRequest("java"), newRequest("java")
	for range 100_000 {
		empty.scope.LogRecords().AppendEmpty()
		base64.add("H4sIA")
		format.add("x", "profiling.data.format", "x")
	}
	for name, r := range map[string]request{"empty": empty, "base64": base64, "format": format} {
		t.Run(name, func(t *testing.T) { memorytest.CheckCovered(t, translating(r.logs)) })
	}
}

// TestRefusedMemory: a record without memory is refused for that reason.
func TestRefusedMemory(t *testing.T) {
	none := errors.New("no more")
	for name, logs := range hostileRecords(t) {
		_, result := NewDecoder(Options{}).Decode(logs, received, func(int64) error { return none })
		require.NotEmpty(t, result.Refused, name)
		assert.Equal(t, ReasonMemory, result.Refused[0].Reason, name)
	}
}

// TestReserveEndsRequest: reserve is called before each record, and its error refuses the rest of the request.
func TestReserveEndsRequest(t *testing.T) {
	const records, allowed = 100, 10
	r := newRequest("java")
	for range records {
		r.addText("\n\nat a(b:1)\n")
	}
	ended := errors.New("the request has ended")
	calls := 0
	_, result := NewDecoder(Options{}).Decode(r.logs, 1, func(int64) error {
		if calls++; calls > allowed {
			return ended
		}
		return nil
	})
	assert.GreaterOrEqual(t, len(result.Refused), records-allowed)
	assert.Equal(t, ended, result.Refused[len(result.Refused)-1].Err)
}
