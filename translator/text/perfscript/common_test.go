// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"bytes"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
)

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
