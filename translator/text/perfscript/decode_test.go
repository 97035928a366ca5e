// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
)

// render returns the profiles as text, without the lines before them.
func render(t *testing.T, text string) string {
	t.Helper()
	pd, _ := format.Valid(t, []byte(text), pprof.Source{})
	_, profiles, _ := strings.Cut(profiletest.Render(pd), "\n\n")
	return profiles
}

// TestHeaders parses first lines of samples.
func TestHeaders(t *testing.T) {
	const none = "    []\n"
	for line, want := range map[string]string{
		"a 1 2.5: cycles:": `profile "samples"/"count", period 0 ""/"", time 0, duration 0 {profile.name=cycles(Str)}
  [1] {thread.name=a(Str), thread.id=1(Int)}
`,
		"a 1/2 [003] 2.5:  7 cycles:ppp: ": `profile "cycles"/"count", period 7 "cycles"/"count", time 0, duration 0 {profile.name=cycles:ppp(Str)}
  [7] {thread.name=a(Str), process.pid=1(Int), thread.id=2(Int), cpu.logical_number=3(Int)}
`,
		"Web Content [x] 1.2: 5/6 2.000001: 9 task-clock:u:": `profile "cpu"/"nanoseconds", period 9 "cpu"/"nanoseconds", time 0, duration 0 {profile.name=task-clock:u(Str)}
  [9] {thread.name=Web Content [x] 1.2:(Str), process.pid=5(Int), thread.id=6(Int)}
`,
		"swapper -1/0 [000] 2.5: 1 sched:sched_switch: prev_comm=a prev_pid=3": `profile "sched:sched_switch"/"count", period 1 "sched:sched_switch"/"count", time 0, duration 0 {profile.name=sched:sched_switch(Str)}
  [1] {thread.name=swapper(Str), thread.id=0(Int), cpu.logical_number=0(Int)}
`,
		":7 7 2.5: 1 cpu_core/cycles/P:": `profile "cpu_core/cycles/"/"count", period 1 "cpu_core/cycles/"/"count", time 0, duration 0 {profile.name=cpu_core/cycles/P(Str)}
  [1] {thread.name=:7(Str), thread.id=7(Int)}
`,
	} {
		if strings.Contains(line, "/P:") {
			want = strings.ReplaceAll(want, "cycles/\"", "cycles/P\"") // the letter is a part of the event
		}
		assert.Equal(t, want+none, render(t, line+"\n"), line)
	}
}

// TestFrames parses lines of stacks.
func TestFrames(t *testing.T) {
	const header = "a 1 2.5: cycles:\n"
	const native = ` {profile.frame.type=native(Str)}`
	for lines, want := range map[string]string{
		"\t1f main+0x10 (/bin/a)":                              `0x1f in /bin/a[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} main() :0:0 from 0` + native,
		"\t1f [unknown] ([unknown])":                           `0x1f`,
		"\t1f f(int, (lambda)) const+0x1 (/lib/b c (deleted))": `0x1f in /lib/b c (deleted)[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} f(int, (lambda)) const() :0:0 from 0` + native,
		"\t1f jit (/tmp/perf-7.map)":                           `0x1f in /tmp/perf-7.map[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} jit() :0:0 from 0`,
		"\t1f operator()":                                      `0x1f operator()() :0:0 from 0`,
		"\t1f":                                                 `0x1f`,
		"\t1f (/bin/a)":                                        `0x1f in /bin/a[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)}` + native,
		"    1f main":                                          `0x1f main() :0:0 from 0`,
		"\tffffffffc0000000 nf ([nf_tables])":                  `0xffffffffc0000000 in [nf_tables][0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} nf() :0:0 from 0 {profile.frame.type=kernel(Str)}`,
		"\tffffffffff600000 time ([vsyscall])":                 `0xffffffffff600000 in [vsyscall][0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} time() :0:0 from 0` + native,
		"\t2 in (inlined)\n\t2 mid (inlined)\n\t2 out (/a)":    `0x2 in /a[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} in() :0:0 from 0 mid() :0:0 from 0 out() :0:0 from 0` + native,
		"\t2 in (inlined)\n\t3 out (/a)":                       `0x2 in() :0:0 from 0; 0x3 in /a[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} out() :0:0 from 0` + native,
		"\t2 in (inlined)":                                     `0x2 in() :0:0 from 0`,
	} {
		if frame, graph := strings.CutPrefix(lines, "\t"); graph && strings.Contains(frame, "(") && strings.HasSuffix(frame, ")") && !strings.Contains(lines, "\n") && !strings.Contains(lines, "operator") {
			assert.Contains(t, render(t, "a 1 2.5: cycles: "+frame+"\n"), "\n    ["+want+"]\n", "flat: %s", lines)
		}
		got := render(t, header+lines+"\n")
		assert.Contains(t, got, "\n    ["+want+"]\n", lines)
	}
}

// TestTimes: only wall-clock times become timestamps.
func TestTimes(t *testing.T) {
	wall := "a 1 1795369073.5: 3 e:\n\t1 f\n\na 1 1795369073.25: 4 e:\n\t1 f\n\nb 1 1795369074.000000001: 5 e:\n\t1 f\n"
	assert.Equal(t, `profile "e"/"count", period 0 "e"/"count", time 1795369073250000000, duration 750000002 {profile.name=e(Str)}
  [4 3] at [1795369073250000000 1795369073500000000] {thread.name=a(Str), thread.id=1(Int)}
    [0x1 f() :0:0 from 0]
  [5] at [1795369074000000001] {thread.id=1(Int), thread.name=b(Str)}
    [0x1 f() :0:0 from 0]
`, render(t, wall))
	boot := strings.ReplaceAll(wall, "1795369", "")
	assert.Equal(t, `profile "e"/"count", period 0 "e"/"count", time 0, duration 750000001 {profile.name=e(Str)}
  [7] {thread.name=a(Str), thread.id=1(Int)}
    [0x1 f() :0:0 from 0]
  [5] {thread.id=1(Int), thread.name=b(Str)}
    [0x1 f() :0:0 from 0]
`, render(t, boot))
}

// TestComments: the comments that perf script --header prints are skipped.
func TestComments(t *testing.T) {
	assert.Contains(t, render(t, "# ========\n# hostname : vm\n#\na 1 2.5: e:\n"), "profile.name=e")
}

// TestRefusals checks that errors have the line, the number and the limit.
func TestRefusals(t *testing.T) {
	limits := pprof.Limits{Samples: 2, LocationsPerSample: 2, InflatedBytes: 500}
	const header = "a 1 2.5: e:\n"
	format.Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"no sample":       {"# nothing\n", "there is no sample"},
		"no header":       {"main;work 1\n", `line 1: malformed profile: "main;work 1" is not the header of a sample`},
		"no time":         {"a 1 cycles:\n", "line 1"},
		"no thread":       {"a 2.5: cycles:\n", "line 1"},
		"no event":        {"a 1 2.5: 7\n", "line 1"},
		"bad processor":   {"a 1 [x] 2.5: e:\n", "line 1"},
		"huge time":       {"a 1 99999999999.5: e:\n", "line 1"},
		"frame first":     {"\t1 f (a)\n", "line 1"},
		"frame after end": {header + "\n\t1 f (a)\n", "line 3"},
		"no address":      {header + "\tmain (a)\n", `line 2: malformed profile: "main (a)" is not a frame`},
		"source line":     {header + "\t1 f (a)\n  f.c:12\n", `line 3: malformed profile: "f.c:12" is not a frame`},
		"clocks":          {"a 1 1795369073.5: e:\n\na 1 2.5: e:\n", "line 3: malformed profile: the time 2.500000000 is before"},
	})
	format.Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"samples":  {header + "\nb 1 2.5: e:\n\nc 1 2.5: e:\n\n", "line 6: profile exceeds a limit: samples: 3, the limit is 2"},
		"depth":    {header + "\t1 f\n\t2 f\n\t3 f\n", "line 4: profile exceeds a limit: locations of a sample: 3, the limit is 2"},
		"too long": {strings.Repeat("#", 501), "bytes of the payload: 501, the limit is 500"},
	})
}

// TestLongTexts: texts and the number of events have limits of their own.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", pprof.MaxStringBytes+1)
	var events strings.Builder
	for i := range pprof.MaxSampleTypes + 1 {
		fmt.Fprintf(&events, "a 1 2.5: e%d:\n", i)
	}
	format.Refuses(t, pprof.Limits{}, text.ErrTooLarge, map[string][2]string{
		"symbol": {"a 1 2.5: e:\n\t1 " + long + "\n", "line 2: profile exceeds a limit: bytes of a string: 1048577, the limit is 1048576"},
		"thread": {long + " 1 2.5: e:\n", "bytes of a string: 1048577"},
		"event":  {"a 1 2.5: " + long + ":\n", "line 1: profile exceeds a limit: bytes of a string: 1048577"},
		"lines":  {"a 1 2.5: e:\n" + strings.Repeat("\t1 f (inlined)\n", pprof.MaxLinesPerLocation) + "\t1 f (a)\n", "lines of a location: 4097, the limit is 4096"},
		"events": {events.String(), "257, the limit is 256"},
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var format texttest.Decode = perfscript.Decode

// outputs has the golden files, which perf 6.1 printed: two events with call graphs, with times since boot; one event
// with wall-clock times; and one without call graphs. The values are the sums of the periods in the files.
var outputs = map[string]map[string]int64{
	"perf_boot.txt": {"cpu/nanoseconds": 14 * 5_025_125, "page-faults/count": 389},
	"perf_wall.txt": {"cpu/nanoseconds": 3 * 20_408_163},
	"perf_flat.txt": {"cpu/nanoseconds": 14 * 5_025_125, "page-faults/count": 389},
}

func TestGolden(t *testing.T) {
	for name, want := range outputs {
		format.Golden(t, name, pprof.Source{})
		format.RoundTrip(t, profiletest.Format(t, name), want)
	}
}

func TestOriginalPayload(t *testing.T) { format.Original(t, "a 1 2.5: e:\n", "perf_script") }

func FuzzDecode(f *testing.F) {
	for name := range outputs {
		f.Add(profiletest.Format(f, name))
	}
	f.Add([]byte(withRecords))
	f.Add([]byte("Web Content [x] 1.2: 5/6 [001] 2.000001: 9 task-clock:u:\n\t2 in (inlined)\n\t3 out (/a (deleted))\n"))
	f.Fuzz(format.Fuzz)
}

// TestLinearTime: the time grows linearly with the text, whatever its words are.
func TestLinearTime(t *testing.T) {
	tokens := []string{" ", "\t", "\v", "\n", "a", "1", "1.0: ", "1.0:", "[1] 1.0: ", "x 1/1 1.0: 5 ", "a 1 1.5: e: ", "(", ") ", "+0x1", "\n\t1 f (b)", "\n1 f (inlined)"}
	for _, head := range []string{"", " ", "a 1 2.5: e:\n\t1 ", "a 1 2.5: e:\n 1 f ("} {
		format.Linear(t, head, "1)", tokens)
	}
}

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&payload, "shopd %d [000] %d.000001: 1 cycles:\n\t%x total+0x1 (/bin/shopd)\n\t%x main+0x2 (/bin/shopd)\n\n", i%8, 100+i, 4096+i%1000, 8192)
	}
	format.Benchmark(b, "perf_script", payload.Bytes())
}
