// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestClientPayloads compares the payloads of real clients with known facts: sums, counts, times and labels, all read
// from the OTLP message.
func TestClientPayloads(t *testing.T) {
	// With zero values, each profile has every sample, so the labels of one profile can be counted.
	decoder := pprof.NewDecoder(pprof.DecodeOptions{KeepZeroValues: true})
	for _, payload := range profiletest.ClientPayloads(t) {
		t.Run(payload.File+" "+payload.Part, func(t *testing.T) {
			pd, stats, err := decoder.Decode(payload.Data, pprof.Source{})
			if payload.Legacy {
				require.ErrorIs(t, err, pprof.ErrNotPprof)
				return
			}
			require.NoError(t, err)
			require.NoError(t, profiletest.Check(pd))
			require.Equal(t, payload.InflatedBytes, stats.InflatedBytes)
			require.Equal(t, payload.Samples, stats.Samples)
			require.Equal(t, payload.Samples*len(payload.SampleTypes), stats.OTLPSamples)
			require.Equal(t, pprof.Repairs{}, stats.Repairs)
			requireExpected(t, payload, pd)
		})
	}
}

func requireExpected(t *testing.T, want profiletest.ClientPayload, pd pprofile.Profiles) {
	t.Helper()
	dict := pd.Dictionary()
	require.LessOrEqual(t, dict.LocationTable().Len()-1, want.Locations)
	require.LessOrEqual(t, dict.FunctionTable().Len()-1, want.Functions)
	require.LessOrEqual(t, dict.MappingTable().Len()-1, want.Mappings)

	scope := pd.ResourceProfiles().At(0).ScopeProfiles().At(0)
	require.Equal(t, len(want.SampleTypes), scope.Profiles().Len())
	defaultType, _ := scope.Scope().Attributes().Get("pprof.scope.default_sample_type")
	if want.DefaultSampleType != "" {
		require.Equal(t, want.DefaultSampleType, defaultType.Str())
	}
	for i, p := range scope.Profiles().All() {
		original := 0
		if order, ok := scope.Scope().Attributes().Get("pprof.scope.sample_type_order"); ok {
			original = int(order.Slice().At(i).Int())
		}
		require.Equal(t, want.SampleTypes[original], typeName(dict, p.SampleType()))
		require.Equal(t, want.PeriodType, typeName(dict, p.PeriodType()))
		require.Equal(t, want.Period, p.Period())
		require.EqualValues(t, want.Time, p.Time())
		require.EqualValues(t, want.Duration, p.DurationNano())
		require.Equal(t, want.ValueSums[original], sum(p))
		require.Equal(t, want.Samples, p.Samples().Len())
		requireLabels(t, want, dict, p)
	}
}

// requireLabels counts the attributes of a profile by key, and the identities of its samples.
func requireLabels(t *testing.T, want profiletest.ClientPayload, dict pprofile.ProfilesDictionary, p pprofile.Profile) {
	t.Helper()
	texts, numbers := map[string]int{}, map[string]int{}
	spans := 0
	identities := map[[2]int32]map[string]bool{}
	for _, s := range p.Samples().All() {
		for _, index := range s.AttributeIndices().All() {
			kv := dict.AttributeTable().At(int(index))
			key := dict.StringTable().At(int(kv.KeyStrindex()))
			if unit := dict.StringTable().At(int(kv.UnitStrindex())); unit != "" {
				key += " " + unit
			}
			switch kv.Value().Type() {
			case pcommon.ValueTypeStr:
				texts[key]++
			case pcommon.ValueTypeInt:
				numbers[key]++
			}
			if key == "span_id" || key == "span id" {
				spans++
			}
		}
		identity := [2]int32{s.StackIndex(), s.LinkIndex()}
		if identities[identity] == nil {
			identities[identity] = map[string]bool{}
		}
		identities[identity][fmt.Sprint(s.AttributeIndices().AsRaw())] = true
	}
	require.Equal(t, want.StringLabels, texts)
	require.Equal(t, want.NumLabels, numbers)
	require.Equal(t, want.SamplesWithSpanLabel, spans)
	distinct := 0
	for _, lists := range identities {
		distinct += len(lists)
	}
	require.Equal(t, want.DistinctStackAndLabels, distinct)
}

func typeName(dict pprofile.ProfilesDictionary, v pprofile.ValueType) string {
	return dict.StringTable().At(int(v.TypeStrindex())) + "/" + dict.StringTable().At(int(v.UnitStrindex()))
}

func sum(p pprofile.Profile) int64 {
	total := int64(0)
	for _, s := range p.Samples().All() {
		for _, v := range s.Values().All() {
			total += v
		}
	}
	return total
}
