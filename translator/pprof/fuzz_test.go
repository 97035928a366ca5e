// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// fuzzLimits keep one execution short.
var fuzzLimits = pprof.Limits{InflatedBytes: 64 << 10, Samples: 10_000}

// addPayloads adds small payloads with one unusual property each.
func addPayloads(f *testing.F) {
	f.Helper()
	names := must.Get(filepath.Glob("../../internal/wire/pprofwire/testdata/edge/*.pb"))(f)
	require.NotEmpty(f, names)
	for _, name := range append(names, "../../testdata/pprof/labelled.pb.gz", "../../testdata/pprof/block.pb.gz") {
		content := must.Get(os.ReadFile(name))(f)
		f.Add(content)
	}
	for _, test := range linkTests {
		f.Add(newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...).bytes())
	}
}

// FuzzDecode: no payload makes the decoder panic. An error has a known class. A message is valid, and encoding and
// decoding does not change it. A payload that google/pprof accepts is unchanged after decoding and encoding.
//
// go test -fuzz FuzzDecode -fuzztime 1000000x ./translator/pprof.
func FuzzDecode(f *testing.F) {
	addPayloads(f)
	// With zero values, a message does not depend on how samples are split, which encoding can change.
	decoder := pprof.NewDecoder(pprof.DecodeOptions{Limits: fuzzLimits, KeepZeroValues: true})
	without := pprof.NewDecoder(pprof.DecodeOptions{Limits: fuzzLimits})
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) > 32<<10 {
			t.Skip("longer than it needs to be to reach all of the code")
		}
		pd, stats, err := decoder.Decode(payload, pprof.Source{})
		if err != nil {
			known := errors.Is(err, pprof.ErrMalformed) || errors.Is(err, pprof.ErrTooLarge) || errors.Is(err, pprof.ErrNotPprof)
			require.True(t, known, "%v", err)
			require.Zero(t, pd)
			return
		}
		_, samples := countProfiles(pd)
		require.Equal(t, samples, stats.OTLPSamples)
		require.NoError(t, asInPprof.Check(pd))
		made := encodeOne(t, encoder, pd)
		again, _, err := decoder.Decode(made, pprof.Source{})
		require.NoError(t, err)
		require.Empty(t, profiletest.Diff(pd, again, profiletest.IgnoreProfileID()))

		fewer, _, err := without.Decode(payload, pprof.Source{})
		require.NoError(t, err)
		require.NoError(t, asInPprof.Check(fewer))
		got, form := profiletest.ParsePprof(encodeOne(t, encoder, fewer))
		require.Equal(t, profiletest.Proto, form)
		want, form := profiletest.ParsePprof(payload)
		// Label keys that were repaired can become equal, or change their order.
		if form == profiletest.Proto && stats.Repairs.InvalidUTF8 == 0 {
			require.Empty(t, profiletest.DiffPprof(want, got))
		}
	})
}

// FuzzEncode: no message makes the encoder panic. Each profile is in a pprof or in an error. google/pprof accepts every
// pprof. The message is not modified.
//
// go test -fuzz FuzzEncode -fuzztime 1000000x ./translator/pprof.
func FuzzEncode(f *testing.F) {
	addMessages(f)
	unmarshaler := &pprofile.ProtoUnmarshaler{}
	encoders := []*pprof.Encoder{
		pprof.NewEncoder(pprof.EncodeOptions{}),
		pprof.NewEncoder(pprof.EncodeOptions{TimestampLabels: true, ResourceComments: true, PreferOriginalPayload: true}),
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 8<<10 {
			t.Skip("longer than it needs to be to reach all of the code")
		}
		pd, err := unmarshaler.UnmarshalProfiles(content)
		if err != nil {
			return
		}
		before := profiletest.Marshal(t, pd)
		want, _ := countProfiles(pd)
		pd.MarkReadOnly()
		for i, encoder := range encoders {
			profiles := 0
			for payload, err := range encoder.All(pd) {
				if err != nil {
					var fault *pprof.ProfileError
					require.ErrorAs(t, err, &fault)
					profiles++
					continue
				}
				profiles += payload.Profiles
				if i == 0 { // google/pprof can refuse an original payload
					_, form := profiletest.ParsePprof(payload.Pprof)
					require.Equal(t, profiletest.Proto, form)
				}
				_, _, err := decoder.Decode(bytes.Clone(payload.Pprof), pprof.Source{})
				if i == 0 {
					require.NoError(t, err)
				}
			}
			require.Equal(t, want, profiles)
		}
		require.Equal(t, before, profiletest.Marshal(t, pd))
	})
}

// addMessages adds messages with every kind of attribute, link, timestamp and table.
func addMessages(f *testing.F) {
	f.Helper()
	events := newMessage()
	p := events.profile("cpu/ns")
	events.setType(p.PeriodType(), "cpu/ns")
	p.SetPeriod(10)
	events.sample(p, events.stack("f"), []int64{1, 2}, events.attribute("key", []any{"a", map[string]any{"value": 1, "unit": "s"}}, "u")).
		TimestampsUnixNano().Append(100, 200)
	events.sample(p, events.stack("g"), nil).TimestampsUnixNano().Append(100)
	events.profile("cpu/ns").SetOriginalPayloadFormat("pprof")
	p.OriginalPayload().FromRaw(newPayload("a/1").bytes())
	p.AttributeIndices().Append(events.attribute("pprof.profile.comment", []any{"c"}, ""), events.attribute("host", 2.5, ""))

	for _, pd := range []pprofile.Profiles{groupsOf(2), codeMessage().done(), events.done(), pprofile.NewProfiles()} {
		f.Add(profiletest.Marshal(f, pd))
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	names := must.Get(filepath.Glob("../../internal/wire/pprofwire/testdata/edge/*.pb"))(f)
	for _, name := range names {
		content := must.Get(os.ReadFile(name))(f)
		if pd, _, err := decoder.Decode(content, pprof.Source{}); err == nil {
			f.Add(profiletest.Marshal(f, pd))
		}
	}
}
