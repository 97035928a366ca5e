// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// sumsOf returns the sums of the values by profile.
func sumsOf(tb testing.TB, pd pprofile.Profiles) map[string]int64 {
	tb.Helper()
	sums := map[string]int64{}
	for key, profile := range profilesOf(tb, pd) {
		for _, sample := range profile.Samples().All() {
			for _, value := range sample.Values().All() {
				sums[key] += value
			}
		}
	}
	return sums
}

// TestSettingsOfChunks checks that each chunk has settings of its own, and those of another only where it has none.
func TestSettingsOfChunks(t *testing.T) {
	const cpu = "process_cpu cpu/nanoseconds"
	for name, test := range map[string]struct {
		periods []string // Each is for a chunk with a sample. An empty one is not written.
		want    map[string]int64
	}{
		"another recording in between": {[]string{"20 ms", "10000000 ns", "20 ms"}, map[string]int64{cpu: 50e6}},
		"off at the end":               {[]string{"20 ms", "everyChunk"}, map[string]int64{cpu: 40e6}},
		"missing at the start":         {[]string{"", "20 ms", ""}, map[string]int64{cpu: 60e6}},
		"never":                        {[]string{"", "everyChunk"}, map[string]int64{"process_cpu samples/count": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var recording []byte
			for _, period := range test.periods {
				r := jfrtest.New()
				if period != "" {
					r.Setting(jfrtest.ClassExecutionSample, "period", period)
				}
				r.ExecutionSample(2000, 0, r.Stack(false), 0, jfrtest.Context{})
				recording = append(recording, r.Bytes()...)
			}
			pd, _ := mustDecode(t, recording, Source{})
			assert.Equal(t, test.want, sumsOf(t, pd))
		})
	}
}

// TestSettingsWithinAChunk checks that a sample has the period that is in force at its time, wherever the setting is in the chunk.
func TestSettingsWithinAChunk(t *testing.T) {
	for name, test := range map[string]struct {
		times   []uint64 // of the settings, which are 20 ms, 10 ms and so on
		samples []uint64
		want    int64
	}{
		"changed once":            {times: []uint64{1000, 3000}, samples: []uint64{2000, 3000, 4000}, want: 40e6},
		"changed several times":   {times: []uint64{1000, 3000, 5000}, samples: []uint64{2000, 4000, 6000, 2500}, want: 55e6},
		"set after the sample":    {times: []uint64{5000}, samples: []uint64{2000}, want: 20e6},
		"two at the same time":    {times: []uint64{0, 0}, samples: []uint64{2000}, want: 10e6},
		"before the first sample": {times: []uint64{0, 1000}, samples: []uint64{2000, 3000}, want: 20e6},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.New()
			for _, at := range test.samples {
				r.ExecutionSample(at, 0, r.Stack(false), 0, jfrtest.Context{})
			}
			for i, at := range test.times {
				r.SettingAt(at, jfrtest.ClassExecutionSample, "period", []string{"20 ms", "10 ms", "5 ms"}[i])
			}
			next := jfrtest.New() // has the last setting of the chunk before
			next.ExecutionSample(2000, 0, next.Stack(false), 0, jfrtest.Context{})
			last := []int64{20e6, 10e6, 5e6}[len(test.times)-1]
			pd, _ := mustDecode(t, append(r.Bytes(), next.Bytes()...), Source{})
			assert.Equal(t, map[string]int64{"process_cpu cpu/nanoseconds": test.want + last}, sumsOf(t, pd))
		})
	}
}

// TestReferencesToStrings checks texts that are references to constants, which can refer to nothing or to each other.
func TestReferencesToStrings(t *testing.T) {
	r := jfrtest.New()
	r.ConstantAt(jfrtest.ClassString, 7, jfrtest.AppendText(nil, "20 ms"))
	r.ConstantAt(jfrtest.ClassString, 8, jfrtest.Reference(8))
	for i, id := range []uint64{8, 9, 7} {
		r.RawSetting(0, jfrtest.ClassExecutionSample, "period", jfrtest.Reference(id))
		symbol := r.Constant(jfrtest.ClassSymbol, jfrtest.Reference(id))
		method := r.Constant(jfrtest.ClassMethod, jfrtest.AppendLong([]byte{0}, symbol))
		r.ExecutionSample(1000+uint64(i)*1e6, 0, r.Stack(false, jfrtest.Frame{Method: method}), 0, jfrtest.Context{})
	}
	pd, _ := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, []string{"[unknown]:0(jvm) |  | | 20000000@0 20000000@1", "20 ms:0(jvm) |  | | 20000000@2"},
		samplesOf(pd, profilesOf(t, pd)["process_cpu cpu/nanoseconds"], jfrtest.Start))
}

// TestSamplesOfTheJDK checks the samples of the JDK that are not execution samples. Where it measures CPU time, execution samples are of
// the wall clock, so that no time counts twice.
func TestSamplesOfTheJDK(t *testing.T) {
	r := jfrtest.New()
	r.Header.TicksPerSecond = 1e6
	stack, running := r.Stack(false, jfrtest.Frame{Method: r.Method("A", "b"), Line: 1}), r.State("STATE_RUNNABLE")
	r.Setting(jfrtest.ClassExecutionSample, "period", "20 ms")
	r.Setting(jfrtest.ClassNativeMethodSample, "period", "40 ms")
	r.ExecutionSample(2000, 0, stack, running, jfrtest.Context{})
	r.Event(jfrtest.ClassNativeMethodSample, 3000, 0, stack, running)
	pd, _ := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, map[string]int64{"process_cpu cpu/nanoseconds": 20e6, "wall wall/nanoseconds": 40e6}, sumsOf(t, pd))
	r.Event(jfrtest.ClassCPUTimeSample, 4000, stack, 0, 0, 10_000, 1)
	pd, stats := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, map[string]int64{"process_cpu cpu/nanoseconds": 10e6, "wall wall/nanoseconds": 60e6}, sumsOf(t, pd))
	assert.Equal(t, 3, stats.Samples)
	assert.EqualValues(t, 10*time.Millisecond, profilesOf(t, pd)["process_cpu cpu/nanoseconds"].Period())
}

// TestSamplesOfDatadog checks the samples of Datadog's native profiler. Each kind has an interval of its own, and a sample can stand for
// several.
func TestSamplesOfDatadog(t *testing.T) {
	r := jfrtest.New()
	fields := []jfrtest.Field{
		{Name: "startTime", Class: jfrtest.ClassLong},
		{Name: "eventThread", Class: jfrtest.ClassThread, Pool: true},
		{Name: "stackTrace", Class: jfrtest.ClassStackTrace, Pool: true},
		{Name: "state", Class: jfrtest.ClassThreadState, Pool: true},
		{Name: "weight", Class: jfrtest.ClassLong},
		{Name: "spanId", Class: jfrtest.ClassLong},
	}
	const cpu, wall = 900, 901
	r.Classes = append(r.Classes,
		jfrtest.Class{ID: cpu, Name: "datadog.ExecutionSample", Fields: fields}, jfrtest.Class{ID: wall, Name: "datadog.MethodSample", Fields: fields})
	stack, parked := r.Stack(false, jfrtest.Frame{Method: r.Method("A", "b"), Line: 1}), r.State("PARKED")
	r.Event(cpu, 1000, 0, stack, parked, 1, 7)
	r.Event(wall, 2000, 0, stack, parked, 3, 0)
	pd, _ := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, map[string]int64{"process_cpu samples/count": 1, "wall samples/count": 3}, sumsOf(t, pd), "without settings")
	r.Setting(cpu, "interval", "10000000")
	r.Setting(wall, "interval", "50000000")
	pd, stats := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, map[string]int64{"process_cpu cpu/nanoseconds": 10e6, "wall wall/nanoseconds": 150e6}, sumsOf(t, pd))
	assert.Empty(t, stats.Skipped)
	assert.Equal(t, []string{"A.b:1(jvm) | profile_id=0000000000000007 | | 10000000@0"},
		samplesOf(pd, profilesOf(t, pd)["process_cpu cpu/nanoseconds"], jfrtest.Start))
}

// TestSkippedEvents checks that events without a profile are counted by type.
func TestSkippedEvents(t *testing.T) {
	r := jfrtest.Example()
	for i, name := range []string{"jdk.GCHeapSummary", "jdk.CPULoad"} {
		r.Classes = append(r.Classes, jfrtest.Class{ID: 900 + i, Name: name})
		r.Event(900+i, 1, 2, 3)
	}
	r.Event(901, 4)
	_, stats := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, []SkippedEvents{{"jdk.CPULoad", 2}, {"jdk.GCHeapSummary", 1}}, stats.Skipped)
	assert.Equal(t, 15, stats.Samples)
}

// TestScopes checks that a sample gets the link of the span on which its thread works at its time.
func TestScopes(t *testing.T) {
	const a, b = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	texts := func(fields []byte, trace, span string) []byte {
		return jfrtest.AppendText(jfrtest.AppendText(fields, trace), span)
	}
	attached := func(r *jfrtest.Recording, at uint64, trace, span string) {
		r.RawEvent(jfrtest.ClassContextAttached, texts(numbers(at, 7, 1), trace, span))
	}
	scope := func(r *jfrtest.Recording, at, duration uint64, trace, span string) {
		r.RawEvent(jfrtest.ClassScope, texts(numbers(at, duration, 7, 0), trace, span))
	}
	for name, test := range map[string]struct {
		write func(r *jfrtest.Recording)
		want  string // the spans of the samples, which are 10 ticks apart
	}{
		"attached": {func(r *jfrtest.Recording) {
			attached(r, 1030, "", "")
			attached(r, 1010, a, b)
			attached(r, 1020, a, "2")
		}, "-12--"},
		"nested": {func(r *jfrtest.Recording) {
			scope(r, 1020, 11, a, "2")
			scope(r, 1010, 30, a, b)
		}, "-122-"},
		"one that ends after the one around it": {func(r *jfrtest.Recording) {
			scope(r, 1010, 15, a, b)
			scope(r, 1020, 15, a, "2")
		}, "-122-"},
		"of Datadog": {func(r *jfrtest.Recording) { r.Event(jfrtest.ClassDatadogScope, 1010, 15, 7, 0xa, 0x2, 5) }, "-33--"},
		"of another thread": {func(r *jfrtest.Recording) {
			r.Event(jfrtest.ClassDatadogScope, 1000, 100, 6, 0xa, 0x2, 5)
			r.Event(jfrtest.ClassDatadogScope, 1000, 100, 8, 0xa, 0x2, 5)
		}, "-----"},
		"beside ids of the event": {func(r *jfrtest.Recording) {
			scope(r, 1000, 100, a, b)
			r.ExecutionSample(1050, 7, 1, 0, jfrtest.Context{TraceLow: 0xa, Span: 2})
		}, "111113"},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.New()
			stack := r.Stack(false)
			for i := range uint64(5) {
				r.ExecutionSample(1000+10*i, 7, stack, 0, jfrtest.Context{})
			}
			test.write(r)
			pd, stats := mustDecode(t, r.Bytes(), Source{})
			got := make([]byte, len(test.want))
			for _, sample := range profilesOf(t, pd)["process_cpu samples/count"].Samples().All() {
				link := pd.Dictionary().LinkTable().At(int(sample.LinkIndex()))
				name := map[string]byte{
					"": '-', a + "/" + b: '1', a + "/0000000000000002": '2', "0000000000000000000000000000000a/0000000000000002": '3',
				}
				key := link.TraceID().String() + "/" + link.SpanID().String()
				if link.TraceID().IsEmpty() {
					key = ""
				}
				for _, time := range sample.TimestampsUnixNano().All() {
					got[(time-jfrtest.Start)/10] = name[key]
				}
			}
			assert.Equal(t, test.want, string(got))
			assert.Empty(t, stats.Skipped)
		})
	}
}

// TestOriginalPayload checks that each profile has the payload, if the option is set.
func TestOriginalPayload(t *testing.T) {
	payload := profiletest.Gzip(t, jfrtest.Example().Bytes())
	pd, stats, err := NewDecoder(Options{IncludeOriginalPayload: true}).Decode(payload, Source{})
	require.NoError(t, err)
	_, without := mustDecode(t, payload, Source{})
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	for _, profile := range profiles.All() {
		assert.Equal(t, "jfr", profile.OriginalPayloadFormat())
		assert.Equal(t, payload, profile.OriginalPayload().AsRaw())
	}
	assert.Equal(t, int64(profiles.Len()*(len("jfr")+len(payload))), stats.MessageBytes-without.MessageBytes)
}

// TestGeneratedNames checks that names of generated classes are normalized, unless the option keeps them.
func TestGeneratedNames(t *testing.T) {
	r := jfrtest.New()
	first := r.Method("a/App$$Lambda$75.0x00007ff44c0c4208", "run")
	second := r.Method("a/App$$Lambda+0x00007ff44c0c5555/12", "run")
	for _, method := range []uint64{first, second} {
		r.ExecutionSample(1000, 0, r.Stack(false, jfrtest.Frame{Method: method, Line: 1}), 0, jfrtest.Context{})
	}
	for keep, want := range map[bool]int{false: 1, true: 2} {
		pd, _, err := NewDecoder(Options{KeepGeneratedNames: keep}).Decode(r.Bytes(), Source{})
		require.NoError(t, err)
		assert.Equal(t, want, profilesOf(t, pd)["process_cpu samples/count"].Samples().Len(), keep)
	}
}
