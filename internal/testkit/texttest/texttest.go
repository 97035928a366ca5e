// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package texttest has the tests that the translators of texts and JSON have in common.
package texttest // import "github.com/otelpprof/otelpprof/internal/testkit/texttest"

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

var update = flag.Bool("update", false, "update the golden files in testdata/formats")

// Decode translates a payload of one format.
type Decode func(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error)

// Valid translates a payload without faults, and checks the message.
func (decode Decode) Valid(tb testing.TB, payload []byte, src pprof.Source) (pprofile.Profiles, pprof.DecodeStats) {
	tb.Helper()
	pd, stats, err := decode(payload, src, text.Options{})
	require.NoError(tb, err)
	require.NoError(tb, profiletest.Check(pd))
	assert.Equal(tb, pd.SampleCount(), stats.OTLPSamples)
	return pd, stats
}

// Golden compares the profiles of a file in testdata/formats with a readable text. To update the texts, run the test with -update.
func (decode Decode) Golden(t *testing.T, name string, src pprof.Source) {
	t.Helper()
	payload := profiletest.Format(t, name)
	pd, stats := decode.Valid(t, payload, src)
	assert.Equal(t, len(payload), stats.InflatedBytes)
	golden, got := name+".golden", profiletest.Render(pd)
	if *update {
		require.NoError(t, os.WriteFile(profiletest.Testdata(t, "formats", golden), []byte(got), 0o600))
	}
	assert.Equal(t, string(profiletest.Format(t, golden)), got)
	again, _ := decode.Valid(t, payload, src)
	assert.Equal(t, profiletest.Marshal(t, pd), profiletest.Marshal(t, again), "equal bytes for equal input")
}

// RoundTrip translates a payload, and the profiles to pprofs. google/pprof must get the same sums of values, by type/unit.
func (decode Decode) RoundTrip(t *testing.T, payload []byte, want map[string]int64) {
	t.Helper()
	pd, _ := decode.Valid(t, payload, pprof.Source{})
	assert.Equal(t, want, ValueSums(pd))
	got := map[string]int64{}
	for encoded, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
		require.NoError(t, err)
		parsed, err := profile.ParseData(encoded.Pprof)
		require.NoError(t, err)
		for _, sample := range parsed.Sample {
			for i, value := range sample.Value {
				got[parsed.SampleType[i].Type+"/"+parsed.SampleType[i].Unit] += value
			}
		}
	}
	assert.Equal(t, want, got)
}

// ValueSums adds up the values of all profiles of a message, by type/unit.
func ValueSums(pd pprofile.Profiles) map[string]int64 {
	sums := map[string]int64{}
	text := pd.Dictionary().StringTable()
	for p := range walk.Profiles(pd) {
		name := text.At(int(p.SampleType().TypeStrindex())) + "/" + text.At(int(p.SampleType().UnitStrindex()))
		for _, sample := range p.Samples().All() {
			for _, value := range sample.Values().All() {
				sums[name] += value
			}
		}
	}
	return sums
}

// Original checks that the profiles have the payload, if the option is set.
func (decode Decode) Original(t *testing.T, payload, format string) {
	t.Helper()
	pd, _, err := decode([]byte(payload), pprof.Source{}, text.Options{IncludeOriginalPayload: true})
	require.NoError(t, err)
	for p := range walk.Profiles(pd) {
		assert.Equal(t, payload, string(p.OriginalPayload().AsRaw()))
		assert.Equal(t, format, p.OriginalPayloadFormat())
	}
}

// Refuses checks that the error of each payload has this class, and contains the second text: the position, the number and the limit.
func (decode Decode) Refuses(t *testing.T, limits pprof.Limits, class error, payloads map[string][2]string) {
	t.Helper()
	for name, test := range payloads {
		t.Run(name, func(t *testing.T) {
			pd, stats, err := decode([]byte(test[0]), pprof.Source{}, text.Options{Limits: limits})
			require.ErrorIs(t, err, class)
			require.ErrorContains(t, err, test[1])
			assert.Less(t, len(err.Error()), 300)
			assert.Equal(t, pprofile.Profiles{}, pd)
			assert.Zero(t, stats.OTLPSamples)
		})
	}
}

// Fuzz translates any bytes. The message keeps the rules of OTLP, or the error has a class.
func (decode Decode) Fuzz(t *testing.T, payload []byte) {
	t.Helper()
	pd, stats, err := decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{InflatedBytes: 1 << 16, Samples: 1000}})
	if err != nil {
		require.True(t, errors.Is(err, text.ErrMalformed) || errors.Is(err, text.ErrTooLarge), err)
		return
	}
	require.NoError(t, profiletest.Check(pd))
	require.Equal(t, pd.SampleCount(), stats.OTLPSamples)
}

// Linear checks that the time grows linearly with the payload, see [profiletest.CheckLinear].
func (decode Decode) Linear(t *testing.T, head, tail string, tokens []string) {
	t.Helper()
	profiletest.CheckLinear(t, head, tail, tokens, func(payload []byte) {
		_, _, _ = decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{LocationsPerSample: 100}})
	})
}

// Benchmark translates a payload.
func (decode Decode) Benchmark(b *testing.B, name string, payload []byte) {
	b.Run("profile="+name+"/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(len(payload)))
		b.ReportAllocs()
		samples := 0
		for b.Loop() {
			_, stats, err := decode(payload, pprof.Source{}, text.Options{})
			if err != nil {
				b.Fatal(err)
			}
			samples += stats.Samples
		}
		b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	})
}
