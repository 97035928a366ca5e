// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// largeRecord is a record of the size that an agent with 200 threads sends: 20 samples of each thread, on 1000 stacks.
func largeRecord(tb testing.TB) plog.Logs {
	tb.Helper()
	p := newPayload("")
	var frames []uint64
	for i := range 3000 {
		frames = append(frames, p.location(fmt.Sprintf("com.acme.shop.module%d.Service$Inner%d.handle%d", i%40, i%7, i), fmt.Sprintf("Service%d.java", i%200), int64(i)))
	}
	for i := range 4000 {
		stack := i % 1000
		labels := []label{
			num("thread.id", int64(i%200)), str("thread.name", fmt.Sprint("http-nio-8080-exec-", i%200)), str("thread.state", "RUNNABLE"),
			str("source.event.name", "jdk.ThreadDump"), period(1000), at(1_795_241_154_000 + int64(i/200)*1000),
		}
		if i%10 == 0 {
			labels = append(labels, str("trace_id", fmt.Sprintf("%032x", i+1)), str("span_id", fmt.Sprintf("%016x", i+1)))
		}
		p.sample(frames[2*stack:2*stack+40+stack%60], nil, labels...)
	}
	r := newRequest("java")
	r.addPprof(p.body(tb))
	return r.logs
}

// BenchmarkSplunkRecord measures a record with a pprof → pprofile.Profiles. op=limit decompresses the same body and
// unmarshals the resulting message with pdata; op=otelpprof should take at most twice as long.
//
// go test ./translator/splunk -run '^$' -bench '^BenchmarkSplunkRecord$' -benchmem -count 6 -cpu 1.
func BenchmarkSplunkRecord(b *testing.B) {
	jsAllocations := captureOf(b, "splunk-otel-js/v4.7.2-mixed-alloc-http.pb")
	for _, file := range []struct {
		name  string
		logs  plog.Logs
		shape SampleShape
	}{
		{"java-200-threads", largeRecord(b), Combined},
		{"java-depth-1024", captureOf(b, "splunk-otel-java/pprof-v2-cpu.pb"), Combined},
		{"js-cpu", captureOf(b, "splunk-otel-js/v4.7.2-mixed-cpu-1-http.pb"), Combined},
		{"js-snapshot", captureOf(b, "splunk-otel-js/v4.7.2-snapshot-http.pb"), Combined},
		{"js-alloc-per-event", jsAllocations, PerEvent},
		{"js-alloc", jsAllocations, Combined}, // 1148 samples become 15, so op=limit has little to do
	} {
		decoder := NewDecoder(Options{SampleShape: file.shape})
		pd, result := decoder.Decode(file.logs, received, nil)
		require.Empty(b, result.Refused)
		message := profiletest.Marshal(b, pd)
		body := file.logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Str()
		compressed, err := appendBase64(nil, []byte(body))
		require.NoError(b, err)

		b.Run("profile="+file.name+"/op=otelpprof", func(b *testing.B) {
			b.SetBytes(int64(result.InflatedBytes))
			b.ReportAllocs()
			for b.Loop() {
				decoder.Decode(file.logs, received, nil)
			}
		})
		b.Run("profile="+file.name+"/op=limit", func(b *testing.B) {
			b.SetBytes(int64(result.InflatedBytes))
			b.ReportAllocs()
			var raw []byte
			for b.Loop() {
				raw, _, err = inflate.Into(raw, compressed, 64<<20, nil)
				require.NoError(b, err)
				_, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkSplunkText measures the texts of a thread dump: op=parse parses them, op=otelpprof decodes the records to
// profiles.
//
// go test ./translator/splunk -run '^$' -bench '^BenchmarkSplunkText$' -benchmem -count 6 -cpu 1.
func BenchmarkSplunkText(b *testing.B) {
	for _, file := range []struct{ name, language, path string }{
		{"java", "java", "splunk-otel-java/text-v1.23-cpu-jdk17-threaddump.pb"},
		{"js", "nodejs", "splunk-otel-js/v1.2.0-text-mixed-grpc.pb"},
		{"dotnet", "dotnet", "signalfx-dotnet-tracing/text-v1.0.0-cpu.pb"},
	} {
		logs := captureOf(b, file.path)
		grammar := languages[file.language].grammar
		var bodies [][]byte
		size := int64(0)
		for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			bodies = append(bodies, []byte(record.Body().Str()))
			size += int64(len(record.Body().Str()))
		}
		b.Run("profile="+file.name+"/op=parse", func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			var x text
			for b.Loop() {
				for _, body := range bodies {
					if x.parse(body, grammar, maxStringBytes, DefaultLimits().FramesPerStack) != nil {
						b.Fatal("refused")
					}
				}
			}
		})
		b.Run("profile="+file.name+"/op=otelpprof", func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			decoder := NewDecoder(Options{})
			for b.Loop() {
				decoder.Decode(logs, received, nil)
			}
		})
	}
}
