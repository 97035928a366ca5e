// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func clone(pd pprofile.Profiles) pprofile.Profiles {
	result := pprofile.NewProfiles()
	pd.CopyTo(result)
	return result
}

func deduplicate(t require.TestingT, pd pprofile.Profiles) (pprofile.Profiles, dedup.Stats) {
	result, stats, err := dedup.New(dedup.Options{}).Deduplicate(pd)
	require.NoError(t, err)
	return result, stats
}

// requireCanonical checks the rules of a canonical message, except those for shapes, times and code.
func requireCanonical(t require.TestingT, pd pprofile.Profiles) {
	require.NoError(t, profiletest.CheckOptions{
		AllowMixedShapes: true, AllowTimestampsOutside: true, AllowNegativeLines: true, AllowNamelessFunctions: true, Deduplicated: true,
	}.Check(pd))
}

func TestKeepsMeaningOfAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		before := clone(pd)
		after, stats := deduplicate(t, pd)
		require.Empty(t, profiletest.Diff(before, after))
		requireCanonical(t, after)
		assert.Zero(t, stats.Invalid)

		for _, shape := range []dedup.Shape{dedup.ShapeCombined, dedup.ShapePerEvent, dedup.ShapeTotal} {
			shaped, _, err := dedup.New(dedup.Options{Shape: shape}).Deduplicate(clone(after))
			require.NoError(t, err)
			again, stats, err := dedup.New(dedup.Options{Shape: shape}).Deduplicate(clone(shaped))
			require.NoError(t, err)
			assert.False(t, stats.Changed, "what is canonical is left alone")
			require.Equal(t, profiletest.Marshal(t, shaped), profiletest.Marshal(t, again))
		}
	})
}

func TestArrangementDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd, _ := deduplicate(t, gen.Profiles().Draw(t, "message"))
		shuffled := gen.Disarrange(pd, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		after, _ := deduplicate(t, shuffled)
		require.Empty(t, profiletest.Diff(pd, after))
		requireCanonical(t, after)
		assert.Equal(t, lengths(pd), lengths(after))
	})
}

func TestMessagesBecomeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(gen.Profiles(), 1, 4).Draw(t, "messages")
		var deduplicated []pprofile.Profiles
		for _, pd := range messages {
			one, _ := deduplicate(t, clone(pd))
			deduplicated = append(deduplicated, one)
		}
		whole := dedup.Join(messages)
		before := clone(whole)
		apart, _ := deduplicate(t, dedup.Join(deduplicated))
		whole, _ = deduplicate(t, whole)
		require.Empty(t, profiletest.Diff(before, whole))
		require.Empty(t, profiletest.Diff(whole, apart))
		requireCanonical(t, whole)
		assert.Equal(t, lengths(whole), lengths(apart))
	})
}

func TestPartsMakeTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, _ := deduplicate(t, gen.Profiles().Draw(t, "message"))
		before := clone(whole)
		most := rapid.IntRange(1, 5).Draw(t, "most samples")
		for _, part := range split(whole, most, 0) {
			assert.LessOrEqual(t, part.SampleCount(), most)
			requireCanonical(t, part)
			assert.LessOrEqual(t, part.ProfileCount(), before.ProfileCount())
		}
	})
}

func TestBrokenProfilesGoAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd, _ := deduplicate(t, gen.Profiles().Draw(t, "message"))
		fault := rapid.SampledFrom(gen.Faults()).Draw(t, "fault")
		n := pd.ProfileCount()
		if _, ok := gen.Break(pd, fault, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))); !ok {
			t.Skip("this message has no place for the fault")
		}
		after, stats := deduplicate(t, clone(pd))
		invalid := 0
		for _, n := range stats.Invalid {
			invalid += n
		}
		assert.Equal(t, n-invalid, after.ProfileCount(), fault.Name)
		requireCanonical(t, after)

		reject := dedup.New(dedup.Options{OnInvalid: dedup.Reject})
		_, _, err := reject.Deduplicate(clone(pd))
		if invalid > 0 {
			require.ErrorContains(t, err, "is invalid: ")
		} else {
			require.NoError(t, err)
		}
		passed, stats, err := dedup.New(dedup.Options{OnInvalid: dedup.Pass}).Deduplicate(clone(pd))
		require.NoError(t, err)
		if invalid > 0 {
			assert.False(t, stats.Changed)
			assert.Equal(t, profiletest.Marshal(t, pd), profiletest.Marshal(t, passed))
		}
	})
}

// Profiles of real profilers keep their meaning, and what is made of them by default suits strict readers.
func TestCorpus(t *testing.T) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	cleared := 0
	for _, file := range profiletest.CorpusPprofs(t) {
		pd, _, err := decoder.Decode(file.Bytes(t), pprof.Source{})
		if err != nil {
			continue
		}
		before := clone(pd)
		after, _ := deduplicate(t, pd)
		require.Empty(t, profiletest.Diff(before, after), file.Name)
		kept := profiletest.CheckOptions{Deduplicated: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
		require.NoError(t, kept.Check(after), file.Name)
		assert.Equal(t, lengths(before), lengths(after), "%s: the translator leaves nothing to do in the tables", file.Name)
		cleared += requireStrict(t, file.Name, before).ClearedLines
	}
	assert.Positive(t, cleared, "Julia writes start lines of -1")
	widened := 0
	for _, message := range profiletest.CorpusMessages(t) {
		widened += requireStrict(t, message.Name, clone(message.Profiles)).WidenedProfiles
		requireSameMeaning(t, message.Name, message.Profiles)
	}
	assert.Positive(t, widened, "the eBPF profiler ends a profile at its last timestamp")
	paths, err := filepath.Glob(filepath.Join(profiletest.Corpus(t), "jfr", "*.jfr.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		recording, err := os.ReadFile(path)
		require.NoError(t, err)
		pd, _, err := jfr.NewDecoder(jfr.Options{}).Decode(recording, jfr.Source{})
		require.NoError(t, err, path)
		requireStrict(t, path, pd)
	}
}

func TestReadOnlyMessageIsNotWrittenTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		before := clone(pd)
		pd.MarkReadOnly()
		after, _ := deduplicate(t, pd)
		require.Empty(t, profiletest.Diff(before, after))
		require.Equal(t, lengths(before), lengths(pd))
		requireCanonical(t, after)
	})
}

func lengths(pd pprofile.Profiles) dictionary.Lengths { return dictionary.LengthsOf(pd.Dictionary()) }
