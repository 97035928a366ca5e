// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&payload, "main;server.handle;shop.checkout;shop.total%d;runtime.growslice %d\n", i%1000, i)
	}
	b.Run("profile=folded/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(payload.Len()))
		b.ReportAllocs()
		samples := 0
		for b.Loop() {
			_, stats, err := collapsed.Decode(payload.Bytes(), pprof.Source{}, collapsed.Options{})
			if err != nil {
				b.Fatal(err)
			}
			samples += stats.Samples
		}
		b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	})
}
