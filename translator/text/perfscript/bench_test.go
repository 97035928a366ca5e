// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
)

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&payload, "shopd %d [000] %d.000001: 1 cycles:\n\t%x total+0x1 (/bin/shopd)\n\t%x main+0x2 (/bin/shopd)\n\n", i%8, 100+i, 4096+i%1000, 8192)
	}
	b.Run("profile=perf_script/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(payload.Len()))
		b.ReportAllocs()
		samples := 0
		for b.Loop() {
			_, stats, err := perfscript.Decode(payload.Bytes(), pprof.Source{}, text.Options{})
			if err != nil {
				b.Fatal(err)
			}
			samples += stats.Samples
		}
		b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	})
}
