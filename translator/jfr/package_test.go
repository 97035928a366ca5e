// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustDecode also checks that the message keeps the rules of OTLP.
func mustDecode(tb testing.TB, recording []byte, src Source) (pprofile.Profiles, Stats) {
	tb.Helper()
	pd, stats, err := NewDecoder(Options{}).Decode(recording, src)
	require.NoError(tb, err)
	require.NoError(tb, profiletest.CheckOptions{Deduplicated: true}.Check(pd))
	return pd, stats
}

// profilesOf returns the profiles of a message by their name and type.
func profilesOf(tb testing.TB, pd pprofile.Profiles) map[string]pprofile.Profile {
	tb.Helper()
	all := map[string]pprofile.Profile{}
	for _, profile := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		name := attributesOf(pd, profile.AttributeIndices().AsRaw())
		key := strings.TrimPrefix(name, "profile.name=") + " " + typeOf(pd, profile.SampleType())
		require.NotContains(tb, all, key)
		all[key] = profile
	}
	return all
}

func typeOf(pd pprofile.Profiles, v pprofile.ValueType) string {
	strs := pd.Dictionary().StringTable()
	return strs.At(int(v.TypeStrindex())) + "/" + strs.At(int(v.UnitStrindex()))
}

func attributesOf(pd pprofile.Profiles, indices []int32) string {
	var all []string
	for _, i := range indices {
		a := pd.Dictionary().AttributeTable().At(int(i))
		all = append(all, pd.Dictionary().StringTable().At(int(a.KeyStrindex()))+"="+a.Value().AsString())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// stackOf returns the frames of a stack with their line and type, the leaf first.
func stackOf(pd pprofile.Profiles, index int32) string {
	dict := pd.Dictionary()
	var frames []string
	for _, i := range dict.StackTable().At(int(index)).LocationIndices().All() {
		location := dict.LocationTable().At(int(i))
		line := location.Lines().At(0)
		name := dict.StringTable().At(int(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
		kind := strings.TrimPrefix(attributesOf(pd, location.AttributeIndices().AsRaw()), "profile.frame.type=")
		frames = append(frames, fmt.Sprintf("%s:%d(%s)", name, line.Line(), kind))
	}
	return strings.Join(frames, ";")
}

// samplesOf writes each sample as a line.
func samplesOf(pd pprofile.Profiles, profile pprofile.Profile, start uint64) []string {
	var lines []string
	for _, sample := range profile.Samples().All() {
		text := stackOf(pd, sample.StackIndex()) + " | " + attributesOf(pd, sample.AttributeIndices().AsRaw()) + " |"
		if link := pd.Dictionary().LinkTable().At(int(sample.LinkIndex())); !link.TraceID().IsEmpty() {
			text += fmt.Sprintf(" %s/%s", link.TraceID(), link.SpanID())
		}
		values := []string{text, "|"}
		for i, value := range sample.Values().All() {
			values = append(values, fmt.Sprintf("%d@%d", value, (sample.TimestampsUnixNano().At(i)-start)/1_000_000))
		}
		lines = append(lines, strings.Join(values, " "))
	}
	return lines
}
