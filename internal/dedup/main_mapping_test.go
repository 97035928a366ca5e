// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ofProgram returns the message of a pprof with the mappings main and libc, in this order, and a sample in each of reached.
func ofProgram(t *testing.T, main string, reached ...string) pprofile.Profiles {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		TimeNanos:  1, DurationNanos: 1,
		Mapping: []*profile.Mapping{
			{ID: 1, Start: 0x1000, Limit: 0x2000, File: main, BuildID: "id of " + main},
			{ID: 2, Start: 0x7000, Limit: 0x8000, File: "libc.so", BuildID: "id of libc"},
		},
	}
	for i, file := range reached {
		for _, m := range p.Mapping {
			if m.File == file {
				l := &profile.Location{ID: uint64(i + 1), Mapping: m, Address: m.Start}
				p.Location = append(p.Location, l)
				p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
			}
		}
	}
	var content bytes.Buffer
	require.NoError(t, p.Write(&content))
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(content.Bytes(), pprof.Source{})
	require.NoError(t, err)
	return pd
}

// mappingsOf returns the mappings of the pprofs of a message.
func mappingsOf(t *testing.T, pd pprofile.Profiles) (mappings []string) {
	t.Helper()
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
		require.NoError(t, err)
		p, err := profile.ParseData(payload.Pprof)
		require.NoError(t, err)
		var text strings.Builder
		for _, m := range p.Mapping {
			fmt.Fprintf(&text, "%s %s;", m.File, m.BuildID)
		}
		mappings = append(mappings, text.String())
	}
	return mappings
}

// TestMainBinaryWithoutSamples: a profile without samples keeps the file and build id of its program.
func TestMainBinaryWithoutSamples(t *testing.T) {
	pd, _ := deduplicate(t, ofProgram(t, "app"))
	requireCanonical(t, pd)
	assert.Equal(t, []string{"app id of app;"}, mappingsOf(t, pd))
}

// TestMainBinaryStaysFirst: also in a message that is joined with one of another order, and split again.
func TestMainBinaryStaysFirst(t *testing.T) {
	const app, worker, libc = "app id of app;", "worker id of worker;", "libc.so id of libc;"
	joined := dedup.Join([]pprofile.Profiles{
		ofProgram(t, "app", "libc.so"), ofProgram(t, "worker", "worker", "libc.so"), ofProgram(t, "app", "app", "libc.so"), ofProgram(t, "worker"),
	})
	joined, _ = deduplicate(t, joined)
	requireCanonical(t, joined)
	want := []string{app + libc, worker + libc, app + libc, worker}
	assert.Equal(t, want, mappingsOf(t, joined))

	var got []string
	dedup.Split(joined, dedup.SplitLimits{MaxSamples: 1}, func(part dedup.Part) {
		requireCanonical(t, part.Profiles)
		got = append(got, mappingsOf(t, part.Profiles)...)
	})
	assert.Equal(t, []string{app + libc, worker, worker + libc, app, app + libc, worker}, got)
}

// TestMainBinaryAndMerge: profiles of one program are merged, whatever mappings their samples reach.
func TestMainBinaryAndMerge(t *testing.T) {
	joined, _ := deduplicate(t, dedup.Join([]pprofile.Profiles{ofProgram(t, "app", "app"), ofProgram(t, "app", "libc.so"), ofProgram(t, "app")}))
	assert.Equal(t, 2, dedup.MergeProfiles(joined, func(string, string) bool { return true }))
	joined, _ = deduplicate(t, joined)
	requireCanonical(t, joined)
	assert.Equal(t, []string{"app id of app;libc.so id of libc;"}, mappingsOf(t, joined))
}
