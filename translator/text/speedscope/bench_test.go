// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	payload.WriteString(`{"shared":{"frames":[{"name":"main"},{"name":"handle"},{"name":"checkout"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]`)
	payload.WriteString(strings.Repeat(",[0,1,2]", 19_999) + `],"weights":[1` + strings.Repeat(",1", 19_999) + "]}]}")
	b.Run("profile=speedscope/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(payload.Len()))
		b.ReportAllocs()
		samples := 0
		for b.Loop() {
			_, stats, err := speedscope.Decode(payload.Bytes(), pprof.Source{}, text.Options{})
			if err != nil {
				b.Fatal(err)
			}
			samples += stats.Samples
		}
		b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	})
}
