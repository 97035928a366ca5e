// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// split returns all parts of a message.
func split(pd pprofile.Profiles, maxSamples, maxBytes int) (parts []pprofile.Profiles) {
	dedup.Split(pd, dedup.SplitLimits{MaxSamples: maxSamples, MaxBytes: maxBytes}, func(part dedup.Part) {
		parts = append(parts, part.Profiles)
	})
	return parts
}

func sizeOf(pd pprofile.Profiles) int { return (&pprofile.ProtoMarshaler{}).ProfilesSize(pd) }

// requireSplit splits a canonical message and checks the promises of Split.
func requireSplit(t *testing.T, pd pprofile.Profiles, maxSamples, maxBytes int) (parts int) {
	t.Helper()
	size, samples, profiles := sizeOf(pd), pd.SampleCount(), pd.ProfileCount()
	total, most, gotSamples, last := 0, 0, 0, 0
	dedup.Split(pd, dedup.SplitLimits{MaxSamples: maxSamples, MaxBytes: maxBytes}, func(part dedup.Part) {
		parts++
		total += sizeOf(part.Profiles)
		most = max(most, sizeOf(part.Profiles))
		gotSamples += part.Profiles.SampleCount()
		if profiles > 0 {
			require.Equal(t, part.Profiles.ProfileCount(), part.Last-part.First+1)
			require.LessOrEqual(t, part.First-last, 1, "no profile is left out")
			require.GreaterOrEqual(t, part.First, last)
			last = part.Last
		}
		requireCanonical(t, part.Profiles)
	})
	require.Equal(t, samples, gotSamples)
	require.Equal(t, max(profiles-1, 0), last)
	require.LessOrEqual(t, total, 8*size+parts*(4<<10), "%d parts of %d bytes", parts, size)
	require.LessOrEqual(t, most, max(size, maxBytes), "the largest part")
	return parts
}

// shared makes a message with n samples. Each has its own stack, and all share a name of this many bytes.
func shared(nameBytes, n int) pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for range n {
			sample(0).Values().Append(1)
		}
	})
	d := pd.Dictionary()
	d.StringTable().Append(strings.Repeat("x", nameBytes))
	d.FunctionTable().AppendEmpty().SetNameStrindex(int32(d.StringTable().Len() - 1))
	samples := onlyProfile(pd).Samples()
	for i := range n {
		location := d.LocationTable().AppendEmpty()
		location.SetAddress(uint64(i + 1))
		location.Lines().AppendEmpty().SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(d.LocationTable().Len() - 1))
		samples.At(i).SetStackIndex(int32(d.StackTable().Len() - 1))
	}
	return pd
}

// Entries that all samples share are not repeated for each of them.
func TestSplitOfSharedName(t *testing.T) {
	const most = 4_000_000
	pd, _ := deduplicate(t, shared(4<<20, 1000))
	var tooLarge *dedup.TooLargeError
	require.ErrorAs(t, dedup.CheckSplit(pd, most), &tooLarge)
	assert.Greater(t, tooLarge.Bytes, 4<<20)
	assert.ErrorContains(t, tooLarge, "sample 0 of profile 0 needs a message of 41")
	assert.ErrorContains(t, tooLarge, "at most 4000000 are allowed")
	assert.LessOrEqual(t, requireSplit(t, clone(pd), 0, most), 12)
	assert.LessOrEqual(t, requireSplit(t, pd, 10, 0), 12, "nor by the number of samples")

	pd, _ = deduplicate(t, shared(3_900_000, 100_000))
	require.NoError(t, dedup.CheckSplit(pd, most), "each sample has room")
	assert.LessOrEqual(t, requireSplit(t, pd, 0, most), 12)
}

// All samples share a long stack, and differ in their attributes.
func TestSplitOfSharedStack(t *testing.T) {
	n := many(t) / 10
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for range 1000 {
			sample(1).Values().Append(1)
		}
	})
	d := pd.Dictionary()
	stack := d.StackTable().AppendEmpty().LocationIndices()
	samples := onlyProfile(pd).Samples()
	for i := range n {
		d.LocationTable().AppendEmpty().SetAddress(uint64(i + 1))
		stack.Append(int32(d.LocationTable().Len() - 1))
	}
	for i := range samples.Len() {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(1)
		a.Value().SetInt(int64(i))
		samples.At(i).SetStackIndex(int32(d.StackTable().Len() - 1))
		samples.At(i).AttributeIndices().FromRaw([]int32{int32(d.AttributeTable().Len() - 1)})
	}
	pd, _ = deduplicate(t, pd)
	assert.LessOrEqual(t, requireSplit(t, pd, 0, sizeOf(pd)/2), 16)
}

// A large message without samples is split, too.
func TestSplitOfProfilesWithoutSamples(t *testing.T) {
	pd := pprofile.NewProfiles()
	for range 1000 {
		pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().SetPeriod(1)
	}
	pd, _ = deduplicate(t, pd)
	parts := split(clone(pd), 0, 2000)
	require.Greater(t, len(parts), 2)
	for _, part := range parts {
		assert.LessOrEqual(t, sizeOf(part), 2000)
	}
	requireSplit(t, pd, 0, 2000)
}

// CheckSplit can check an invalid message.
func TestCheckSplitOfBrokenMessage(t *testing.T) {
	pd := faultyEverywhere()
	pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().OriginalPayload().FromRaw(make([]byte, 5000))
	require.Error(t, dedup.CheckSplit(pd, 4000))
	require.NoError(t, dedup.CheckSplit(pd, 10_000))
	require.NoError(t, dedup.CheckSplit(pd, 0))
}

// A profile that fits into a part is not split, wherever in the message it is.
func TestSplitKeepsProfilesWhole(t *testing.T) {
	pd := shared(1, 25) // with a stack for each sample
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	profiles.RemoveIf(func(pprofile.Profile) bool { return true })
	for id, samples := range []int{3, 5, 1, 10, 25, 2, 9, 0, 9} {
		profile := profiles.AppendEmpty()
		profile.SetProfileID([16]byte{byte(id + 1)})
		for i := range samples {
			sample := profile.Samples().AppendEmpty()
			sample.SetStackIndex(int32(pd.Dictionary().StackTable().Len() - 1 - i))
			sample.Values().Append(1)
		}
	}
	pd, _ = deduplicate(t, pd)
	var got [][]int
	for _, part := range split(pd, 10, 0) {
		var samples []int
		for p := range walk.Profiles(part) {
			samples = append(samples, p.Samples().Len())
		}
		got = append(got, samples)
	}
	assert.Equal(t, [][]int{{3, 5, 1}, {10}, {10}, {10}, {5, 2}, {9, 0}, {9}}, got)
}

// The profiles of a capture stay together if they fit into a part, wherever in the message they are.
func TestSplitKeepsCapturesTogether(t *testing.T) {
	for name, limits := range map[string]dedup.SplitLimits{"samples": {MaxSamples: 10}, "bytes": {MaxBytes: 350}} {
		pd := shared(1, 25) // with a stack for each sample
		scopes := pd.ResourceProfiles().At(0).ScopeProfiles()
		scopes.RemoveIf(func(pprofile.ScopeProfiles) bool { return true })
		whole := map[[2]int]int{}
		for scope, captures := range [][]int{{3, 1, 2, 4}, {9, 2, 2, 3, 1}} { // numbers of profiles of two samples
			profiles := scopes.AppendEmpty()
			profiles.Scope().SetName(strconv.Itoa(scope))
			for capture, n := range captures {
				whole[[2]int{scope, capture}] = n
				for i := range n {
					profile := profiles.Profiles().AppendEmpty()
					profile.SetTime(pcommon.Timestamp(1000 + 100*capture))
					profile.SetProfileID([16]byte{byte(scope + 1), byte(capture), byte(i)})
					for k := range 2 {
						sample := profile.Samples().AppendEmpty()
						sample.SetStackIndex(int32(pd.Dictionary().StackTable().Len() - 1 - k))
						sample.Values().Append(1)
					}
				}
			}
		}
		pd, _ = deduplicate(t, pd)
		parts := 0
		dedup.Split(pd, limits, func(part dedup.Part) {
			parts++
			got := map[[2]int]int{}
			for p := range walk.Profiles(part.Profiles) {
				id := p.ProfileID()
				got[[2]int{int(id[0]) - 1, int(id[1])}]++
			}
			for capture, n := range got {
				if whole[capture] <= 5 {
					assert.Equal(t, whole[capture], n, "%s: capture %v of part %d", name, capture, parts)
				}
			}
		})
		assert.Greater(t, parts, 4, name)
	}
}

// Profiles of real programs, several times as large as the limit, become parts within the limit.
func TestSplitOfRealProfiles(t *testing.T) {
	files := []string{"../../testdata/pprof/heap.pb.gz", "../../testdata/pprof/cpu.pb.gz"}
	if corpus := os.Getenv("OTELPPROF_CORPUS"); corpus != "" {
		for _, name := range []string{"synth/synth-large.pb", "real/go-compile-default.pgo", "real/ddgo-big-heap.pprof"} {
			files = append(files, filepath.Join(corpus, "pprof", name))
		}
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range files {
		payload, err := os.ReadFile(file)
		require.NoError(t, err)
		pd, _, err := decoder.Decode(payload, pprof.Source{})
		require.NoError(t, err)
		pd, _ = deduplicate(t, pd)
		for _, share := range []int{2, 4, 8, 16} {
			most := sizeOf(pd) / share
			require.NoError(t, dedup.CheckSplit(pd, most))
			total, largest, parts := 0, 0, split(clone(pd), 0, most)
			for _, part := range parts {
				total += sizeOf(part)
				largest = max(largest, sizeOf(part))
			}
			t.Logf("%-20s %9d bytes, at most %7d: %4d parts of at most %7d, %.2f times as large in all",
				filepath.Base(file), sizeOf(pd), most, len(parts), largest, float64(total)/float64(sizeOf(pd)))
			if share <= 2 {
				assert.LessOrEqual(t, largest, most)
			}
		}
	}
}

// FuzzSplit takes OTLP bytes, and splits the message that Deduplicate returns for them.
//
//	go test ./internal/dedup -run '^$' -fuzz FuzzSplit -fuzztime 100000x
func FuzzSplit(f *testing.F) {
	for _, pd := range []pprofile.Profiles{shared(500, 20), shared(5, 50), faultyEverywhere()} {
		f.Add(profiletest.Marshal(f, pd), uint16(0), uint16(600))
		f.Add(profiletest.Marshal(f, pd), uint16(3), uint16(0))
	}
	f.Fuzz(func(t *testing.T, message []byte, maxSamples, maxBytes uint16) {
		if len(message) > 16<<10 {
			t.Skip("large messages only take time")
		}
		pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
		if err != nil {
			return
		}
		_ = dedup.CheckSplit(pd, int(maxBytes))
		pd, _ = deduplicate(t, pd)
		fits := dedup.CheckSplit(pd, int(maxBytes)) == nil
		parts := split(clone(pd), int(maxSamples), int(maxBytes))
		requireSplit(t, pd, int(maxSamples), int(maxBytes))
		if !fits || len(parts) == 0 {
			return
		}
		// The first part repeats nothing, so it has no reason to be too large.
		if maxBytes > 0 {
			require.LessOrEqual(t, sizeOf(parts[0]), int(maxBytes))
		}
		if maxSamples > 0 {
			require.LessOrEqual(t, parts[0].SampleCount(), int(maxSamples))
		}
	})
}
