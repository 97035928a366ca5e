// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestGeneratedPprofsRoundTrip: pprof → OTLP → pprof changes nothing, for any profile that CheckValid accepts.
func TestGeneratedPprofsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := written(t, gen.Pprof().Draw(t, "pprof"))
		want, form := profiletest.ParsePprof(payload)
		require.Equal(t, profiletest.Proto, form)
		roundTrip(t, want, payload, pprof.DecodeOptions{
			KeepZeroValues:           rapid.Bool().Draw(t, "keep zeros"),
			KeepUnreferencedMappings: rapid.Bool().Draw(t, "keep mappings"),
		})
	})
}

// TestGeneratedMessagesToPprof: every valid message, canonical or not, becomes pprofs without an error. Every profile and
// sample is in one of them, the totals are unchanged, and decoding restores the message.
func TestGeneratedMessagesToPprof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encoder := pprof.NewEncoder(pprof.EncodeOptions{
			TimestampLabels:  rapid.Bool().Draw(t, "timestamp labels"),
			ResourceComments: rapid.Bool().Draw(t, "resource comments"),
			LinkLabels:       rapid.SampledFrom(append(pprof.DefaultLinkLabels(), pprof.LinkLabels{})).Draw(t, "link labels"),
		})
		pd := gen.Profiles().Draw(t, "profiles")
		before := profiletest.Marshal(t, pd)
		wantProfiles, wantSamples := countProfiles(pd)
		profiles, samples, total := 0, 0, int64(0)
		for payload, err := range encoder.All(pd) {
			require.NoError(t, err)
			profiles += payload.Profiles
			samples += payload.OTLPSamples
			made, form := profiletest.ParsePprof(payload.Pprof)
			require.Equal(t, profiletest.Proto, form)
			if len(made.SampleType) > 0 { // a type without a name or samples represents no type
				require.Len(t, made.SampleType, payload.Profiles)
			}
			require.Len(t, made.Sample, payload.Samples)
			for _, s := range made.Sample {
				for _, v := range s.Value {
					total += v
				}
			}
			roundTrip(t, made, bytes.Clone(payload.Pprof), pprof.DecodeOptions{})
		}
		require.Equal(t, wantProfiles, profiles)
		require.Equal(t, wantSamples, samples)
		require.Equal(t, totalOf(pd), total)
		require.Equal(t, before, profiletest.Marshal(t, pd), "the message was changed")
	})
}

// TestGeneratedProfilesAgainstReference compares the encoder with a simple reference, for each profile and without links.
// The round trip tests links.
func TestGeneratedProfilesAgainstReference(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		for _, rp := range pd.ResourceProfiles().All() {
			for _, sp := range rp.ScopeProfiles().All() {
				for _, p := range sp.Profiles().All() {
					for _, s := range p.Samples().All() {
						s.SetLinkIndex(0)
					}
					got, _ := profiletest.ParsePprof(encodeOne(t, encoder, alone(pd.Dictionary(), sp.Scope(), p)))
					want := profiletest.ReferencePprof(pd.Dictionary(), sp.Scope(), p)
					require.NoError(t, want.CheckValid())
					slices.Sort(want.Comments) // attributes have no order
					slices.Sort(got.Comments)
					require.Empty(t, profiletest.DiffPprof(want, got))
				}
			}
		}
	})
}

// alone returns a message of one profile.
func alone(dict pprofile.ProfilesDictionary, scope pcommon.InstrumentationScope, p pprofile.Profile) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	dict.CopyTo(pd.Dictionary())
	sp := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	scope.CopyTo(sp.Scope())
	p.CopyTo(sp.Profiles().AppendEmpty())
	return pd
}

// TestArrangementDoesNotMatter: the order, duplicates and unused entries of a dictionary do not change the pprof.
func TestArrangementDoesNotMatter(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		other := gen.Disarrange(pd, random(t))
		first, second := encodeAll(t, encoder, pd), encodeAll(t, encoder, other)
		require.Len(t, second, len(first))
		for i := range first {
			want, _ := profiletest.ParsePprof(first[i])
			got, _ := profiletest.ParsePprof(second[i])
			// These keep the order of their tables.
			want.Mapping, got.Mapping = nil, nil
			slices.Sort(want.Comments)
			slices.Sort(got.Comments)
			require.Empty(t, profiletest.DiffPprof(want, got))
		}
	})
}

// TestBrokenMessages: in an invalid message only the invalid profiles are lost, without a panic. Every pprof that is
// written is valid.
func TestBrokenMessages(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for _, fault := range gen.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pd := gen.Profiles().Draw(t, "profiles")
				broken, ok := gen.Break(pd, fault, random(t))
				if !ok {
					return
				}
				wantProfiles, _ := countProfiles(pd)
				profiles, failed := 0, 0
				for payload, err := range encoder.All(pd) {
					if err != nil {
						failed++
						if fault.Index {
							require.Regexp(t, `index -?[0-9]+ of the [a-z]+ table does not exist`, err.Error())
							require.Equal(t, broken, profileAt(t, pd, err))
						}
						continue
					}
					profiles += payload.Profiles
					_, form := profiletest.ParsePprof(payload.Pprof)
					require.Equal(t, profiletest.Proto, form)
				}
				if fault.Index {
					require.Equal(t, 1, failed, "an index out of range must not go unnoticed")
				}
				require.Equal(t, wantProfiles, profiles+failed)
			})
		})
	}
}

// profileAt returns the profile that an error names.
func profileAt(t *rapid.T, pd pprofile.Profiles, err error) pprofile.Profile {
	var fault *pprof.ProfileError
	require.ErrorAs(t, err, &fault)
	return pd.ResourceProfiles().At(fault.Resource).ScopeProfiles().At(fault.Scope).Profiles().At(fault.Profile)
}

func encodeAll(t *rapid.T, encoder *pprof.Encoder, pd pprofile.Profiles) [][]byte {
	var all [][]byte
	for payload, err := range encoder.All(pd) {
		require.NoError(t, err)
		all = append(all, bytes.Clone(payload.Pprof))
	}
	return all
}

// totalOf sums all values. A timestamp without a value counts 1.
func totalOf(pd pprofile.Profiles) int64 {
	total := int64(0)
	for _, rp := range pd.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				for _, s := range p.Samples().All() {
					if s.Values().Len() == 0 {
						total += int64(s.TimestampsUnixNano().Len())
					}
					for _, v := range s.Values().All() {
						total += v
					}
				}
			}
		}
	}
	return total
}

func random(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) }
