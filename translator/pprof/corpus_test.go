// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestCorpusRoundTrip: every real profile that google/pprof accepts is unchanged after decoding and encoding. Profiles in
// one of the older formats are converted as the receiver does it: google/pprof reads them and writes profile.proto.
func TestCorpusRoundTrip(t *testing.T) {
	testRoundTrips(t, profiletest.CorpusPprofs(t))
}

// TestOwnRoundTrip does the same with the profiles of this repository, for clones without a corpus.
func TestOwnRoundTrip(t *testing.T) { testRoundTrips(t, profiletest.OwnPprofs(t)) }

func testRoundTrips(t *testing.T, files []profiletest.PprofFile) {
	t.Helper()
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			payload := file.Bytes(t)
			if testing.Short() && len(payload) > 1<<20 {
				t.Skip("too large for a short run")
			}
			want, form := profiletest.ParsePprof(payload)
			switch form {
			case profiletest.Refused:
				t.Skip("google/pprof refuses it, see TestCorpusOfRefusedFiles")
			case profiletest.Legacy:
				payload = written(t, want)
				want, _ = profiletest.ParsePprof(payload)
			}
			roundTrip(t, want, payload, pprof.DecodeOptions{})
		})
	}
}

// TestRoundTripWithOptions: options do not change the pprof that results from decoding and encoding.
func TestRoundTripWithOptions(t *testing.T) {
	for name, options := range map[string]pprof.DecodeOptions{
		"zero values":           {KeepZeroValues: true},
		"no links":              {LinkLabels: []pprof.LinkLabels{}},
		"other links":           {LinkLabels: []pprof.LinkLabels{{Trace: "otel.traceid"}, {Trace: "trace_id", Span: "span_id"}}},
		"unreferenced mappings": {KeepUnreferencedMappings: true},
		"original payload":      {IncludeOriginalPayload: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range profiletest.OwnPprofs(t) {
				want, form := file.Parse(t)
				require.Equal(t, profiletest.Proto, form, file.Name)
				roundTrip(t, want, file.Bytes(t), options)
			}
		})
	}
}

// TestCorpusOfRefusedFiles: a file that google/pprof refuses is either an error of a known class or, if this package is
// more tolerant, a valid message whose pprof google/pprof accepts.
func TestCorpusOfRefusedFiles(t *testing.T) {
	decoder, encoder := pprof.NewDecoder(pprof.DecodeOptions{}), pprof.NewEncoder(pprof.EncodeOptions{})
	refused, accepted := 0, 0
	for _, file := range profiletest.CorpusPprofs(t, "real", "edge") {
		if _, form := file.Parse(t); form == profiletest.Proto {
			continue
		}
		pd, _, err := decoder.Decode(file.Bytes(t), pprof.Source{})
		if err != nil {
			refused++
			known := errors.Is(err, pprof.ErrMalformed) || errors.Is(err, pprof.ErrTooLarge) || errors.Is(err, pprof.ErrNotPprof)
			assert.True(t, known, "%s: %v", file.Name, err)
			continue
		}
		accepted++
		assert.NoError(t, profiletest.Check(pd), file.Name)
		for payload, err := range encoder.All(pd) {
			require.NoError(t, err, file.Name)
			_, form := profiletest.ParsePprof(payload.Pprof)
			assert.Equal(t, profiletest.Proto, form, file.Name)
		}
	}
	assert.Greater(t, refused, 20)
	assert.Positive(t, accepted)
}

// TestCorpusMessagesToPprof: messages of other producers become pprofs, and decoding and encoding these does not change
// them.
func TestCorpusMessagesToPprof(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for _, message := range profiletest.CorpusMessages(t) {
		profiles, samples := 0, 0
		for payload, err := range encoder.All(message.Profiles) {
			require.NoError(t, err, message.Name)
			profiles += payload.Profiles
			samples += payload.OTLPSamples
			again, form := profiletest.ParsePprof(payload.Pprof)
			require.Equal(t, profiletest.Proto, form, message.Name)
			roundTrip(t, again, bytes.Clone(payload.Pprof), pprof.DecodeOptions{})
		}
		wantProfiles, wantSamples := countProfiles(message.Profiles)
		assert.Equal(t, wantProfiles, profiles, message.Name)
		assert.Equal(t, wantSamples, samples, message.Name)
	}
}

// roundTrip decodes the payload, checks the message, encodes it and compares. It does each twice: equal input must give
// equal output.
func roundTrip(t profiletest.T, want *profile.Profile, payload []byte, options pprof.DecodeOptions) {
	t.Helper()
	decoder, encoder := pprof.NewDecoder(options), pprof.NewEncoder(pprof.EncodeOptions{})
	pd, stats, err := decoder.Decode(payload, pprof.Source{})
	require.NoError(t, err)
	require.Equal(t, len(want.Sample), stats.Samples)
	_, samples := countProfiles(pd)
	require.Equal(t, samples, stats.OTLPSamples)
	check := asInPprof
	check.AllowUnreferencedMappings = options.KeepUnreferencedMappings
	require.NoError(t, check.Check(pd))

	again, _, err := decoder.Decode(payload, pprof.Source{})
	require.NoError(t, err)
	require.Equal(t, profiletest.Marshal(t, pd), profiletest.Marshal(t, again), "decoding twice gives different messages")

	first, second := encodeOne(t, encoder, pd), encodeOne(t, encoder, again)
	require.Equal(t, first, second, "encoding twice gives different pprofs")
	got, form := profiletest.ParsePprof(first)
	require.Equal(t, profiletest.Proto, form)
	require.Empty(t, profiletest.DiffPprof(want, got))
}

// encodeOne encodes a message with one group.
func encodeOne(t profiletest.T, encoder *pprof.Encoder, pd pprofile.Profiles) []byte {
	t.Helper()
	var encoded [][]byte
	for payload, err := range encoder.All(pd) {
		require.NoError(t, err)
		encoded = append(encoded, bytes.Clone(payload.Pprof))
	}
	require.Len(t, encoded, 1, "pprofs of one pprof")
	return encoded[0]
}

func countProfiles(pd pprofile.Profiles) (profiles, samples int) {
	for _, rp := range pd.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			profiles += sp.Profiles().Len()
			for _, p := range sp.Profiles().All() {
				samples += p.Samples().Len()
			}
		}
	}
	return profiles, samples
}

func written(t profiletest.T, p *profile.Profile) []byte {
	t.Helper()
	var buffer bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&buffer))
	return buffer.Bytes()
}
