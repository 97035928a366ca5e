// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// FuzzDeduplicate takes OTLP bytes. The result keeps the rules, a valid message keeps its meaning, and a second call changes
// nothing.
func FuzzDeduplicate(f *testing.F) {
	for _, name := range []string{"labelled", "block"} {
		payload, err := os.ReadFile("../../testdata/pprof/" + name + ".pb.gz")
		require.NoError(f, err)
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
		require.NoError(f, err)
		f.Add(profiletest.Marshal(f, pd), uint8(0))
	}
	f.Add(profiletest.Marshal(f, samplesOf(func(sample func(int32) pprofile.Sample) {
		sample(1).Values().Append(1)
		sample(2).TimestampsUnixNano().Append(150)
	})), uint8(4))
	f.Add(profiletest.Marshal(f, faultyEverywhere()), uint8(8))
	f.Fuzz(func(t *testing.T, message []byte, mode uint8) {
		if len(message) > 16<<10 {
			t.Skip("large messages only take time")
		}
		pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
		if err != nil {
			return
		}
		options := dedup.Options{Shape: dedup.Shape(mode % 3), DropZeroSamples: mode&4 != 0}
		if mode&8 != 0 {
			options.DropAttributes = []string{"", "thread.id"}
		}
		options.ClearNegativeLines, options.NameFunctions = mode&16 != 0, mode&32 != 0
		before := clone(pd)
		valid := profiletest.CheckOptions{
			Untidy: true, AllowMixedShapes: true, AllowTimestampsOutside: true, AllowNegativeLines: true, AllowNamelessFunctions: true,
		}.Check(before) == nil
		d := dedup.New(options)
		after, stats, err := d.Deduplicate(pd)
		require.NoError(t, err)
		require.NoError(t, profiletest.CheckOptions{
			AllowMixedShapes: true, AllowTimestampsOutside: true, Deduplicated: options.Shape != dedup.ShapePerEvent,
			AllowNegativeLines: !options.ClearNegativeLines, AllowNamelessFunctions: !options.NameFunctions,
		}.Check(after))
		if valid && mode%3 == 0 && mode&60 == 0 {
			assert.Zero(t, stats.Invalid)
			require.Empty(t, profiletest.Diff(before, after))
		}
		again, stats, err := d.Deduplicate(clone(after))
		require.NoError(t, err)
		assert.Zero(t, stats.Invalid)
		require.Empty(t, profiletest.Diff(after, again))
		parts := split(again, 3, 0)
		total := 0
		for _, part := range parts {
			total += part.SampleCount()
		}
		assert.Equal(t, after.SampleCount(), total)
	})
}
