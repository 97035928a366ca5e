// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestKindsAreTheFilesOfTestdata: the profiles are valid, the same each time, and those in testdata/pprof. If this
// fails after a change here, run go generate.
func TestKindsAreTheFilesOfTestdata(t *testing.T) {
	files := profiletest.OwnPprofs(t)
	require.Len(t, files, len(gen.Kinds()))
	byName := map[string]profiletest.PprofFile{}
	for _, file := range files {
		byName[file.Name] = file
	}
	for _, kind := range gen.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			require.NoError(t, kind.Make().CheckValid())
			file, ok := byName["pprof/"+kind.Name+".pb.gz"]
			require.True(t, ok, "no file")
			onDisk, form := file.Parse(t)
			require.Equal(t, profiletest.Proto, form)
			first, second := encoded(t, kind), encoded(t, kind)
			assert.Equal(t, first, second, "two runs differ")
			assert.Empty(t, profiletest.DiffPprof(onDisk, kind.Make()))
		})
	}
}

// TestKindsAreWhatTheyAreNamedFor holds the sizes that the benchmarks count on, and what the tests look for in each.
func TestKindsAreWhatTheyAreNamedFor(t *testing.T) {
	size := map[string]int{}
	for _, file := range profiletest.OwnPprofs(t) {
		size[file.Name] = len(file.Bytes(t))
	}
	assert.InDelta(t, 100_000, size["pprof/cpu.pb.gz"], 15_000)
	assert.InDelta(t, 600_000, size["pprof/heap.pb.gz"], 60_000)

	assert.Len(t, gen.CPU().SampleType, 2)
	assert.Len(t, gen.Heap().SampleType, 4)
	assert.Len(t, gen.Wide().SampleType, 12)
	assert.Greater(t, inlined(gen.CPU()), 100)
	assert.Greater(t, zeros(gen.Heap()), 1000)
	assert.Zero(t, zeros(gen.CPU()))
	for _, s := range gen.Deep().Sample {
		assert.GreaterOrEqual(t, len(s.Location), 60)
	}
}

func encoded(t *testing.T, kind gen.Kind) []byte {
	t.Helper()
	var buffer bytes.Buffer
	require.NoError(t, kind.Make().WriteUncompressed(&buffer))
	return buffer.Bytes()
}

// inlined counts the locations with more than one line.
func inlined(p *profile.Profile) int {
	n := 0
	for _, l := range p.Location {
		if len(l.Line) > 1 {
			n++
		}
	}
	return n
}

// zeros counts the values that are zero.
func zeros(p *profile.Profile) int {
	n := 0
	for _, s := range p.Sample {
		for _, v := range s.Value {
			if v == 0 {
				n++
			}
		}
	}
	return n
}

// TestPprofsAreValid: what is generated can be written and read, and is still the same.
func TestPprofsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := gen.Pprof().Draw(t, "pprof")
		require.NoError(t, p.CheckValid())
		written := rewritten(t, p)
		require.Empty(t, profiletest.DiffPprof(written, rewritten(t, written)))
	})
}

func rewritten(t *rapid.T, p *profile.Profile) *profile.Profile {
	var buffer bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&buffer))
	again, form := profiletest.ParsePprof(buffer.Bytes())
	require.Equal(t, profiletest.Proto, form)
	return again
}

func TestProfilesKeepTheRules(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, untidy.Check(gen.Profiles().Draw(t, "profiles")))
	})
}

// TestDisarrangeKeepsTheMeaning is a test of the comparison too: it must see through every index.
func TestDisarrangeKeepsTheMeaning(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		before := profiletest.Marshal(t, pd)
		other := gen.Disarrange(pd, random(t))
		require.NoError(t, untidy.Check(other))
		require.Empty(t, profiletest.Diff(pd, other))
		require.Equal(t, before, profiletest.Marshal(t, pd), "the argument was changed")
		if !other.Dictionary().StringTable().Equal(pd.Dictionary().StringTable()) {
			changed++
		}
	})
	require.Positive(t, changed)
}

// TestBreakIsNoticed: each fault breaks a rule that the check knows, in the message it was applied to.
func TestBreakIsNoticed(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	for _, fault := range gen.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			applied := 0
			rapid.Check(t, func(t *rapid.T) {
				pd := gen.Profiles().Draw(t, "profiles")
				if _, ok := gen.Break(pd, fault, random(t)); !ok {
					return
				}
				applied++
				require.Error(t, untidy.Check(pd))
				require.Error(t, profiletest.Check(pd))
				require.Empty(t, profiletest.Diff(pd, pd))
			})
			require.Positive(t, applied)
		})
	}
}

func random(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) }
