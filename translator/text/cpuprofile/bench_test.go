// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
)

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var nodes strings.Builder
	for id := 2; id < 500; id++ {
		fmt.Fprintf(&nodes, `,{"id":%d,"parent":%d,"callFrame":{"functionName":"f%d","url":"file:///shop.js","lineNumber":%d,"columnNumber":9}}`, id, id/2, id, id)
	}
	payload := file(`{"id":1,"callFrame":{"functionName":"(root)"}}`+nodes.String(),
		"[300"+strings.Repeat(",400", 19_999)+"]", "[1"+strings.Repeat(",1250", 19_999)+"]")
	b.Run("profile=cpuprofile/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(len(payload)))
		b.ReportAllocs()
		samples := 0
		for b.Loop() {
			_, stats, err := cpuprofile.Decode(payload, pprof.Source{}, text.Options{})
			if err != nil {
				b.Fatal(err)
			}
			samples += stats.Samples
		}
		b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	})
}
