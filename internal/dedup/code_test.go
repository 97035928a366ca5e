// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// withCode is a message with one sample, whose location has a line of each function.
func withCode(functions func(table pprofile.FunctionSlice), lines ...[2]int64) pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
	d := pd.Dictionary()
	functions(d.FunctionTable())
	location := d.LocationTable().AppendEmpty()
	for i, line := range lines {
		to := location.Lines().AppendEmpty()
		to.SetFunctionIndex(int32(d.FunctionTable().Len() - len(lines) + i))
		to.SetLine(line[0])
		to.SetColumn(line[1])
	}
	d.StackTable().At(1).LocationIndices().Append(int32(d.LocationTable().Len() - 1))
	return pd
}

// codeOf returns the lines of the last location of the sample: name, start line, line and column.
func codeOf(pd pprofile.Profiles) (code []codeLine) {
	d := pd.Dictionary()
	stack := d.StackTable().At(int(onlyProfile(pd).Samples().At(0).StackIndex()))
	indices := stack.LocationIndices()
	for _, line := range d.LocationTable().At(int(indices.At(indices.Len() - 1))).Lines().All() {
		f := d.FunctionTable().At(int(line.FunctionIndex()))
		code = append(code, codeLine{d.StringTable().At(int(f.NameStrindex())), f.StartLine(), line.Line(), line.Column()})
	}
	return code
}

type codeLine struct {
	name                string
	start, line, column int64
}

func TestNegativeLines(t *testing.T) {
	build := func() pprofile.Profiles {
		return withCode(func(table pprofile.FunctionSlice) {
			table.AppendEmpty().SetNameStrindex(1)
			table.At(table.Len() - 1).SetStartLine(-7)
			table.AppendEmpty().SetStartLine(-1)
		}, [2]int64{-1, 4}, [2]int64{5, -3})
	}
	name := build().Dictionary().StringTable().At(1)
	after, stats, err := dedup.New(dedup.Options{ClearNegativeLines: true, NameFunctions: true}).Deduplicate(build())
	require.NoError(t, err)
	assert.Equal(t, []codeLine{{name, 0, 0, 4}, {"", 0, 5, 0}}, codeOf(after))
	assert.Equal(t, 4, stats.ClearedLines)
	assert.Zero(t, stats.NamedFunctions, "nothing is known of it but a line that is not one")
	require.NoError(t, profiletest.Check(after))

	kept, stats := deduplicate(t, build())
	assert.Equal(t, []codeLine{{name, -7, -1, 4}, {"", -1, 5, -3}}, codeOf(kept))
	assert.Zero(t, stats.ClearedLines)
}

func TestFunctionsWithoutName(t *testing.T) {
	build := func() pprofile.Profiles {
		return withCode(func(table pprofile.FunctionSlice) {
			table.AppendEmpty().SetStartLine(7)
			table.AppendEmpty().SetStartLine(8)
			table.AppendEmpty().SetFilenameStrindex(1)
		}, [2]int64{1, 0}, [2]int64{2, 0}, [2]int64{3, 0})
	}
	after, stats, err := dedup.New(dedup.Options{NameFunctions: true}).Deduplicate(build())
	require.NoError(t, err)
	assert.Equal(t, []codeLine{{"(anonymous)", 7, 1, 0}, {"(anonymous)", 8, 2, 0}, {"", 0, 3, 0}}, codeOf(after))
	assert.Equal(t, 2, stats.NamedFunctions)
	require.NoError(t, profiletest.Check(after))

	kept, stats := deduplicate(t, build())
	assert.Equal(t, []codeLine{{"", 7, 1, 0}, {"", 8, 2, 0}, {"", 0, 3, 0}}, codeOf(kept))
	assert.Zero(t, stats.NamedFunctions)
}

// For any input, the result keeps the rules of strict readers, and a second call changes nothing.
func TestMendedCodeOfAnyMessage(t *testing.T) {
	d := dedup.New(dedup.Options{ClearNegativeLines: true, NameFunctions: true})
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		for _, f := range pd.Dictionary().FunctionTable().All() {
			f.SetStartLine(f.StartLine() * rapid.Int64Range(-1, 1).Draw(t, "sign"))
		}
		after, _, err := d.Deduplicate(pd)
		require.NoError(t, err)
		require.NoError(t, profiletest.CheckOptions{AllowMixedShapes: true, AllowTimestampsOutside: true, Deduplicated: true}.Check(after))
		again, stats, err := d.Deduplicate(clone(after))
		require.NoError(t, err)
		assert.False(t, stats.Changed)
		require.Equal(t, profiletest.Marshal(t, after), profiletest.Marshal(t, again))
	})
}

// TestSeveralValuesWithoutTimestamps: they become their sum, also in a sample that is the only one of its stack.
func TestSeveralValuesWithoutTimestamps(t *testing.T) {
	for _, shape := range []dedup.Shape{dedup.ShapeCombined, dedup.ShapePerEvent, dedup.ShapeTotal} {
		after, stats, err := dedup.New(dedup.Options{Shape: shape, DropZeroSamples: true}).Deduplicate(
			samplesOf(func(sample func(int32) pprofile.Sample) {
				sample(1).Values().Append(2, 3, 4)
				sample(2).Values().Append(5, -5)
			}))
		require.NoError(t, err)
		assert.Equal(t, []row{{values: []int64{9}, attributes: 2}}, rows(after))
		assert.Equal(t, 1, stats.ZeroSamples)
		requireCanonical(t, after)
	}
}

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
