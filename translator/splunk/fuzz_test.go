// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// fuzzLimits keep a single run short.
var fuzzLimits = Limits{BodyBytes: 1 << 16, InflatedBytes: 1 << 18, Samples: 5000, FramesPerStack: 500}

var fuzzOptions = []Options{
	{Limits: fuzzLimits},
	{Limits: fuzzLimits, SampleShape: PerEvent, DropEmptyStacks: true, OmitFrameType: true, IncludeOriginalPayload: true},
}

// fuzzLogs decodes logs with several options. The profiles follow OTLP's rules, and each record is either accepted or
// refused.
func fuzzLogs(t *testing.T, logs plog.Logs) {
	t.Helper()
	for _, opts := range fuzzOptions {
		pd, result := decodeAndCheck(t, logs, opts)
		if result.PprofRecords+result.TextRecords+len(result.Refused) != result.Records {
			t.Fatalf("of %d records %d and %d were taken and %d refused", result.Records, result.PprofRecords, result.TextRecords, len(result.Refused))
		}
		if result.Records+result.OtherRecords != logs.LogRecordCount() {
			t.Fatalf("%d records and %d others, but there are %d", result.Records, result.OtherRecords, logs.LogRecordCount())
		}
		events, samples := 0, 0
		for _, p := range profilesOf(pd) {
			samples += p.Samples().Len()
			for _, s := range p.Samples().All() {
				events += s.Values().Len()
			}
		}
		if samples != result.Samples || events < result.Events {
			t.Fatalf("%d samples of %d events, the result says %d of %d", samples, events, result.Samples, result.Events)
		}
		again, _ := NewDecoder(opts).Decode(logs, received, nil)
		if !bytes.Equal(profiletest.Marshal(t, pd), profiletest.Marshal(t, again)) {
			t.Fatal("the same logs gave other profiles")
		}
	}
}

// FuzzPprofRecord decodes a record with these bytes as its decompressed pprof.
func FuzzPprofRecord(f *testing.F) {
	for _, c := range captures(f) {
		for _, resource := range c.logs(f).ResourceLogs().All() {
			for _, record := range resource.ScopeLogs().At(0).LogRecords().All() {
				compressed, err := appendBase64(nil, []byte(record.Body().Str()))
				if err != nil {
					continue
				}
				if raw, _, err := inflate.Into(nil, compressed, 1<<18, nil); err == nil && len(raw) < 2<<10 {
					f.Add(raw, "cpu")
				}
			}
		}
	}
	p := newPayload("")
	p.sampleType("allocationSize", "bytes")
	p.sampleType("objects", "count")
	p.sample([]uint64{p.location("f", "a.js", 1)}, []int64{1, 0}, at(1), str("trace_id", someTrace))
	f.Add(p.bytes(), "allocation")
	f.Fuzz(func(t *testing.T, raw []byte, dataType string) {
		if len(raw) > 64<<10 {
			return
		}
		r := newRequest("java")
		record := r.addPprof("", "profiling.data.type", dataType)
		record.Body().SetEmptyBytes().FromRaw(profiletest.Gzip(t, raw))
		r.addPprof(onePayload().body(t))
		fuzzLogs(t, r.logs)
	})
}

// FuzzText decodes a text record in each grammar.
func FuzzText(f *testing.F) {
	for _, c := range captures(f) {
		for _, resource := range c.logs(f).ResourceLogs().All() {
			for _, record := range resource.ScopeLogs().At(0).LogRecords().All() {
				if body := record.Body().Str(); len(body) < 1<<10 && bytes.Contains([]byte(body), []byte("(")) {
					f.Add(body)
				}
			}
		}
	}
	f.Add("global.f(app.js:3:5 9:12)\ncom.acme.A.b:1")
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 32<<10 {
			return
		}
		for _, language := range []string{"java", "dotnet", "nodejs"} {
			r := newRequest(language)
			r.addText(body)
			r.add(body, "memory.allocated", 5)
			r.addText(oneFrame)
			fuzzLogs(t, r.logs)
			compareFrames(t, body, language, 5000, fuzzLimits.FramesPerStack)
		}
	})
}

// compareFrames compares the frames of a text with those of the reference parser, unless the text is above a limit.
func compareFrames(t *testing.T, body, language string, maxLine, maxFrames int) (parsed bool) {
	t.Helper()
	var x text
	if x.parse([]byte(body), languages[language].grammar, maxLine, maxFrames) != nil {
		return false
	}
	want, skipped := slowFrames(body, language)
	if len(want) != len(x.frames) || skipped != x.skipped {
		t.Fatalf("%d frames and %d skipped lines, want %d and %d", len(x.frames), x.skipped, len(want), skipped)
	}
	for i, f := range x.frames {
		got := frameText(string(f.function), string(f.file), f.line, f.column)
		if got != want[i] && utf8.ValidString(body) {
			t.Fatalf("frame %d is %q, want %q", i, got, want[i])
		}
	}
	return true
}

// FuzzLogs decodes whole requests.
func FuzzLogs(f *testing.F) {
	for _, c := range captures(f) {
		if len(c.body) < 2<<10 {
			f.Add(c.body)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 64<<10 {
			return
		}
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(raw)
		if err != nil {
			return
		}
		fuzzLogs(t, logs)
		before := logs.LogRecordCount()
		if removed := RemoveProfiling(logs); removed+logs.LogRecordCount() != before || RemoveProfiling(logs) != 0 {
			t.Fatalf("%d records removed of %d, %d are left", removed, before, logs.LogRecordCount())
		}
	})
}
