// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"io"
	"testing"

	"github.com/grafana/jfr-parser/parser"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// BenchmarkDecode compares the translation with the parser alone, which makes nothing of the events:
//
//	OTELPPROF_CORPUS=… go test -bench Decode -count 6 ./translator/jfr
func BenchmarkDecode(b *testing.B) {
	for _, f := range corpus(b) {
		plain, err := inflate.Append(nil, f.recording, 1<<30)
		if err != nil {
			b.Fatal(err)
		}
		decoder := NewDecoder(Options{})
		b.Run("recording="+f.name+"/op=decode", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			samples := 0
			for b.Loop() {
				_, stats, err := decoder.Decode(plain, Source{Labels: f.labels})
				if err != nil {
					b.Fatal(err)
				}
				samples += stats.Events
			}
			b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "events/s")
		})
		b.Run("recording="+f.name+"/op=parser", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				p := parser.NewParser(plain, parser.Options{})
				for {
					if _, err := p.ParseEvent(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
