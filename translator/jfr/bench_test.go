// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/grafana/jfr-parser/parser"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/jfrtest"
)

// BenchmarkJFR compares the translation with the parser alone, which makes nothing of the events:
//
//	OTELPPROF_CORPUS=… go test -bench JFR -count 6 ./translator/jfr
func BenchmarkJFR(b *testing.B) {
	for _, f := range append(denseRecordings(), corpus(b)...) {
		plain, err := inflate.Append(nil, f.recording, 1<<30)
		if err != nil {
			b.Fatal(err)
		}
		decoder := NewDecoder(Options{})
		name := "profile=" + strings.TrimSuffix(f.name, ".jfr.gz")
		b.Run(name+"/op=otelpprof", func(b *testing.B) {
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
			b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
		b.Run(name+"/op=parser", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				parseOnly(b, plain)
			}
		})
	}
}

func parseOnly(tb testing.TB, recording []byte) {
	p := parser.NewParser(recording, parser.Options{})
	for {
		if _, err := p.ParseEvent(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}

// denseRecordings have hardly anything but events: of one stack, and of a thousand.
func denseRecordings() []corpusFile {
	dense := func(stacks uint64) []byte {
		r := jfrtest.Example()
		for i := range stacks {
			r.Stack(false, jfrtest.Frame{Method: 1, Line: 100 + i}, jfrtest.Frame{Method: 2, Line: 100 + i})
		}
		for i := range uint64(100_000) {
			r.ExecutionSample(1000+1000*i, 1, 1+i%stacks, 1, jfrtest.Context{})
		}
		return r.Bytes()
	}
	return []corpusFile{{name: "dense-1-stack", recording: dense(1)}, {name: "dense-1000-stacks", recording: dense(1000)}}
}
