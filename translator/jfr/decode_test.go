// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	checkout = "com/example/Shop.checkout:42(jvm);java/lang/Thread.run:840(jvm)"
	native   = "vfs_read:0(kernel);libc.so.6.read:0(native);java/lang/Thread.run:840(jvm)"
	inlined  = "com/example/Shop.checkout:43(jvm);" + checkout
	onMain   = " | thread.id=1 thread.name=main thread.os.id=4711"
	onWorker = " | thread.id=12 thread.name=worker thread.os.id=4712"
)

// TestKinds checks the samples for an event of each kind. The number after @ is the time in milliseconds.
func TestKinds(t *testing.T) {
	pd, stats := mustDecode(t, jfrtest.Example().Bytes(), Source{Labels: jfrtest.Labels()})
	got := map[string][]string{}
	for key, profile := range profilesOf(t, pd) {
		got[key] = samplesOf(pd, profile, jfrtest.Start)
		assert.EqualValues(t, uint64(jfrtest.Start), profile.Time(), key)
		assert.Equal(t, uint64(time.Second), profile.DurationNano(), key)
	}
	oneOf := func(value string) []string { return []string{checkout + onWorker + " | | " + value} }
	assert.Equal(t, map[string][]string{
		"process_cpu cpu/nanoseconds": {
			checkout + onMain + " | | 10000000@1 10000000@5",
			checkout + onWorker + " | | 10000000@2",
			inlined + " | endpoint=/pay thread.id=12 thread.name=worker thread.os.id=4712 thread.stack.truncated=true" +
				" | 0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331 | 10000000@3",
			native + " | span_name=GET /cart thread.id=1 thread.name=main thread.os.id=4711" +
				" | 00000000000000a100000000000000a2/0102030405060708 | 10000000@4",
		},
		"wall wall/nanoseconds":                   {checkout + onMain + " thread.state=STATE_SLEEPING | | 40000000@15"},
		"memory alloc_in_new_tlab_bytes/bytes":    oneOf("2048@7 4096@8"),
		"memory alloc_in_new_tlab_objects/count":  oneOf("1@7 1@8"),
		"memory alloc_outside_tlab_bytes/bytes":   oneOf("1000000@9"),
		"memory alloc_outside_tlab_objects/count": oneOf("1@9"),
		"mutex delay/nanoseconds":                 oneOf("2000000@10"),
		"mutex contentions/count":                 oneOf("1@10"),
		"block delay/nanoseconds":                 oneOf("3000000@11"),
		"block contentions/count":                 oneOf("1@11"),
		"memory alloc_sample_bytes/bytes":         oneOf("5000@12"),
		"memory alloc_sample_objects/count":       oneOf("1@12"),
		"memory live/count":                       oneOf("1@13"),
		"memory malloc_bytes/bytes":               {native + onMain + " | | 256@14"},
		"memory malloc_objects/count":             {native + onMain + " | | 1@14"},
	}, got)
	assert.Equal(t, 15, stats.Samples)
	assert.Equal(t, 18, stats.OTLPSamples)
	assert.Zero(t, stats.Repairs)
}

// TestPeriods checks where the time between two samples comes from.
func TestPeriods(t *testing.T) {
	for name, test := range map[string]struct {
		settings [][2]string
		source   time.Duration
		want     map[string]int64
	}{
		"of async-profiler":      {settings: [][2]string{{"interval", "1000000"}}, source: time.Second, want: map[string]int64{"process_cpu cpu/nanoseconds": 3e6}},
		"async-profiler's usual": {settings: [][2]string{{"interval", "0"}}, source: time.Second, want: map[string]int64{"process_cpu cpu/nanoseconds": 3e7}},
		"of the JDK":             {settings: [][2]string{{"period", "20 ms"}}, source: time.Second, want: map[string]int64{"process_cpu cpu/nanoseconds": 6e7}},
		"of the source":          {source: time.Second, want: map[string]int64{"process_cpu cpu/nanoseconds": 3e9}},
		"no number":              {settings: [][2]string{{"period", "everyChunk"}}, source: time.Second, want: map[string]int64{"process_cpu cpu/nanoseconds": 3e9}},
		"unknown":                {want: map[string]int64{"process_cpu samples/count": 3}},
		"wall clock": {
			settings: [][2]string{{"event", "wall"}, {"interval", "1000000"}},
			want:     map[string]int64{"process_cpu cpu/nanoseconds": 3e6, "wall wall/nanoseconds": 4e6},
		},
		"both": {
			settings: [][2]string{{"event", "cpu"}, {"interval", "1000000"}, {"wall", "50000000"}},
			want:     map[string]int64{"process_cpu cpu/nanoseconds": 1e6, "wall wall/nanoseconds": 150e6},
		},
		// async-profiler writes 0 for its defaults, of which that of the wall clock is five times that of the CPU.
		"usual wall clock": {
			settings: [][2]string{{"event", "wall"}, {"interval", "0"}},
			want:     map[string]int64{"process_cpu cpu/nanoseconds": 150e6, "wall wall/nanoseconds": 200e6},
		},
		"both as usual": {
			settings: [][2]string{{"event", "cpu"}, {"interval", "0"}, {"wall", "0"}},
			want:     map[string]int64{"process_cpu cpu/nanoseconds": 10e6, "wall wall/nanoseconds": 150e6},
		},
		// The interval of other events is no time.
		"of events":      {settings: [][2]string{{"event", "cache-misses"}, {"interval", "1000"}}, source: time.Second, want: map[string]int64{"process_cpu samples/count": 3}},
		"calls":          {settings: [][2]string{{"event", "A.b"}, {"interval", "0"}}, want: map[string]int64{"process_cpu samples/count": 3}},
		"of a CPU clock": {settings: [][2]string{{"event", "cpu-clock"}, {"interval", "1000"}}, want: map[string]int64{"process_cpu cpu/nanoseconds": 3000}},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.New()
			thread, stack := r.Thread("main", 1, 2), r.Stack(false, jfrtest.Frame{Method: r.Method("A", "b"), Line: 1})
			for _, state := range []string{"STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING", "STATE_RUNNABLE"} {
				r.ExecutionSample(2000, thread, stack, r.State(state), jfrtest.Context{})
			}
			for _, setting := range test.settings { // The JDK may write them behind the samples.
				r.Setting(jfrtest.ClassExecutionSample, setting[0], setting[1])
			}
			pd, _ := mustDecode(t, r.Bytes(), Source{Period: test.source})
			assert.Equal(t, test.want, sumsOf(t, pd))
		})
	}
}

// TestTicks checks that times are right whatever the clock of the recording is.
func TestTicks(t *testing.T) {
	for name, test := range map[string]struct {
		header  jfrtest.Header
		ticks   uint64
		want    uint64
		invalid int
	}{
		"nanoseconds":      {jfrtest.Header{StartNanos: 5e9, StartTicks: 10, TicksPerSecond: 1e9}, 17, 5e9 + 7, 0},
		"3 GHz":            {jfrtest.Header{StartNanos: 5e9, StartTicks: 10, TicksPerSecond: 3e9}, 10 + 9e9, 8e9, 0},
		"coarse":           {jfrtest.Header{StartNanos: 5e9, StartTicks: 10, TicksPerSecond: 1000}, 11, 5e9 + 1e6, 0},
		"before the chunk": {jfrtest.Header{StartNanos: 5e9, StartTicks: 2e9, TicksPerSecond: 1e9}, 1e9, 4e9, 0},
		"before 1970":      {jfrtest.Header{StartNanos: 5e9, StartTicks: 7e9, TicksPerSecond: 1e9}, 1e9, 5e9, 1},
		"after 2262":       {jfrtest.Header{StartNanos: 1 << 62, StartTicks: 0, TicksPerSecond: 1}, 1 << 40, 1 << 62, 1},
		"no clock":         {jfrtest.Header{StartNanos: 5e9}, 3, 8e9, 0},
		"chunk of 2500":    {jfrtest.Header{StartNanos: 1 << 63, TicksPerSecond: 1e9}, 0, 1<<63 - 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.New()
			r.Header = test.header
			r.ExecutionSample(test.ticks, 0, 0, 0, jfrtest.Context{})
			pd, stats := mustDecode(t, r.Bytes(), Source{})
			profile := profilesOf(t, pd)["process_cpu samples/count"]
			assert.Equal(t, test.want, profile.Samples().At(0).TimestampsUnixNano().At(0))
			assert.Equal(t, test.invalid, stats.Repairs.InvalidTimes)
		})
	}
}

// TestWhatIsMissing checks that an event counts even if what it refers to is not there.
func TestWhatIsMissing(t *testing.T) {
	r := jfrtest.New()
	stack := r.Stack(false, jfrtest.Frame{Method: 99, Line: 1<<32 - 1, Type: 77}, jfrtest.Frame{Method: r.Method("", ""), Type: 300})
	r.ExecutionSample(1000, 5, 6, 7, jfrtest.Context{Context: 8, Name: 9})
	r.ExecutionSample(1000, 5, 6, 7, jfrtest.Context{Context: 8, Name: 9})
	r.ExecutionSample(1000, 0, stack, 0, jfrtest.Context{Span: 5})
	pd, stats := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, []string{
		" |  | | 1@0 1@0",
		"[unknown]:0();[unknown]:0() | profile_id=0000000000000005 | | 1@0",
	}, samplesOf(pd, profilesOf(t, pd)["process_cpu samples/count"], jfrtest.Start))
	assert.Equal(t, pprof.Repairs{NoStack: 2, NoFunction: 1}, stats.Repairs)
}

// TestTexts checks that texts are valid UTF-8, whatever encoding they have in the recording.
func TestTexts(t *testing.T) {
	r := jfrtest.New()
	latin1 := append(jfrtest.AppendLong([]byte{5}, 2), 'K', 0xe4)
	utf16 := jfrtest.AppendLong(jfrtest.AppendLong(jfrtest.AppendLong([]byte{4}, 2), 'w'), 0x20ac)
	names := [][]byte{latin1, utf16, jfrtest.AppendText(nil, "a\xffb")}
	var frames []jfrtest.Frame
	for _, name := range names {
		symbol := r.Constant(jfrtest.ClassSymbol, name)
		frames = append(frames, jfrtest.Frame{Method: r.Constant(jfrtest.ClassMethod, jfrtest.AppendLong([]byte{0}, symbol)), Line: 1})
	}
	r.ExecutionSample(1000, 0, r.Stack(false, frames...), 0, jfrtest.Context{})
	pd, stats := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, "Kä:1(jvm);w€:1(jvm);a\uFFFDb:1(jvm)", stackOf(pd, profilesOf(t, pd)["process_cpu samples/count"].Samples().At(0).StackIndex()))
	assert.Equal(t, 1, stats.Repairs.InvalidUTF8)
}

// TestChunks checks that each chunk has constants of its own, and that profiles span all of them.
func TestChunks(t *testing.T) {
	chunk := func(method string, startNanos uint64) []byte {
		r := jfrtest.New()
		r.Header.StartNanos = startNanos
		r.ExecutionSample(1000, r.Thread(method, 1, 2), r.Stack(false, jfrtest.Frame{Method: r.Method("A", method), Line: 1}), 0, jfrtest.Context{})
		return r.Bytes()
	}
	empty := jfrtest.New()
	empty.Header.StartNanos = jfrtest.Start + 1e9
	recording := append(chunk("first", jfrtest.Start), empty.Bytes()...)
	recording = append(recording, chunk("second", jfrtest.Start+2e9)...)
	recording = append(recording, chunk("first", jfrtest.Start+3e9)...)
	pd, _ := mustDecode(t, recording, Source{})
	profile := profilesOf(t, pd)["process_cpu samples/count"]
	assert.Equal(t, []string{
		"A.first:1(jvm) | thread.id=1 thread.name=first thread.os.id=2 | | 1@0 1@3000",
		"A.second:1(jvm) | thread.id=1 thread.name=second thread.os.id=2 | | 1@2000",
	}, samplesOf(pd, profile, jfrtest.Start))
	assert.Equal(t, uint64(4e9), profile.DurationNano())
}

// TestStackOfChunkBefore checks that an event has the stack of the chunk before its chunk if the same process wrote both.
func TestStackOfChunkBefore(t *testing.T) {
	chunk := func(method string, start uint64, stacks int, refer ...uint64) []byte {
		r := jfrtest.New()
		r.Header.StartNanos = start
		frame := jfrtest.Frame{Method: r.Method("A", method), Line: 1}
		for i := range stacks {
			r.Stack(i == 1, slices.Repeat([]jfrtest.Frame{frame}, i+1)...)
		}
		for _, stack := range refer {
			r.ExecutionSample(1000, 0, stack, 0, jfrtest.Context{})
		}
		return r.Bytes()
	}
	const start, second = jfrtest.Start, 1_000_000_000
	first := chunk("first", start, 2)
	for name, test := range map[string]struct {
		recording []byte
		want      []string
		noStack   int
	}{
		"of the chunk before": {slices.Concat(first, chunk("second", start+second, 1, 1, 2, 2)), []string{
			"A.second:1(jvm) |  | | 1@1000",
			"A.first:1(jvm);A.first:1(jvm) | thread.stack.truncated=true | | 1@1000 1@1000",
		}, 0},
		"of neither":             {slices.Concat(first, chunk("second", start+second, 0, 0, 3)), []string{" |  | | 1@1000 1@1000"}, 2},
		"of the chunk before it": {slices.Concat(first, chunk("second", start+second, 0), chunk("third", start+2*second, 0, 1)), []string{" |  | | 1@2000"}, 1},
		"of the chunk after":     {slices.Concat(chunk("second", start, 0, 1), chunk("first", start+second, 1)), []string{" |  | | 1@0"}, 1},
		"of another process":     {slices.Concat(first, chunk("second", start+3*second, 0, 1)), []string{" |  | | 1@3000"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pd, stats := mustDecode(t, test.recording, Source{})
			assert.Equal(t, test.want, samplesOf(pd, profilesOf(t, pd)["process_cpu samples/count"], start))
			assert.Equal(t, test.noStack, stats.Repairs.NoStack)
		})
	}
}

// TestSource checks that the message has the fields of Source, and that equal recordings make equal messages.
func TestSource(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	src := Source{Source: pprof.Source{Resource: pcommon.NewMap(), ScopeName: "scope", ScopeVersion: "v1"}, Labels: profiletest.Gzip(t, jfrtest.Labels())}
	src.Resource.PutStr("service.name", "shop")
	first, stats := mustDecode(t, profiletest.Gzip(t, recording), src)
	assert.Equal(t, len(recording), stats.InflatedBytes)
	resource := first.ResourceProfiles().At(0)
	assert.Equal(t, map[string]any{"service.name": "shop"}, resource.Resource().Attributes().AsRaw())
	assert.Equal(t, "scope", resource.ScopeProfiles().At(0).Scope().Name())
	assert.Equal(t, "v1", resource.ScopeProfiles().At(0).Scope().Version())

	decoder := NewDecoder(Options{})
	for range 3 { // The memory of one translation is used by the next.
		again, _, err := decoder.Decode(profiletest.Gzip(t, recording), src)
		require.NoError(t, err)
		assert.Equal(t, profiletest.Marshal(t, first), profiletest.Marshal(t, again))
	}
	src.Labels = nil
	other, _ := mustDecode(t, profiletest.Gzip(t, recording), src)
	assert.NotEqual(t, profileID(first), profileID(other))
}

// TestPayloadMayChange checks that the message shares no memory with the recording.
func TestPayloadMayChange(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	pd, _ := mustDecode(t, recording, Source{Labels: jfrtest.Labels()})
	before := profiletest.Marshal(t, pd)
	clear(recording)
	assert.Equal(t, before, profiletest.Marshal(t, pd))
}

func profileID(pd pprofile.Profiles) pprofile.ProfileID {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).ProfileID()
}
