// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// FuzzDecode checks that no recording, nor any labels, make the translation panic, allocate more than it reserves, or return a
// message that breaks the rules of OTLP.
func FuzzDecode(f *testing.F) {
	f.Add(jfrtest.Example().Bytes(), jfrtest.Labels())
	f.Add(append(jfrtest.New().Bytes(), jfrtest.Example().Bytes()...), []byte{})
	f.Add(changed(func(r *jfrtest.Recording) { class(r, jfrtest.ClassStackTrace).Fields[1].Name = "elements" }), []byte{10, 0})
	f.Add(changed(func(r *jfrtest.Recording) {
		c := class(r, jfrtest.ClassExecutionSample)
		c.Fields = append(c.Fields, jfrtest.Field{Name: "more", Class: jfrtest.ClassStackFrame, Array: true})
		r.RawEvent(jfrtest.ClassExecutionSample, numbers(1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4))
	}), jfrtest.Labels())
	f.Add(chunkOf(numbers(0, 0, 0, 0, 0, most), numbers(0, 1)), []byte{})
	decoder := NewDecoder(Options{})
	f.Fuzz(func(t *testing.T, recording, labels []byte) {
		memorytest.CheckCovered(t, translating(recording, labels))
		pd, stats, err := decoder.Decode(recording, Source{Labels: labels})
		if err != nil {
			return
		}
		if err := (profiletest.CheckOptions{Deduplicated: true}).Check(pd); err != nil {
			t.Fatal(err)
		}
		if got := pd.SampleCount(); got != stats.OTLPSamples {
			t.Fatalf("%d samples, the stats say %d", got, stats.OTLPSamples)
		}
	})
}
