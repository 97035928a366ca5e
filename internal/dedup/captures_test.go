// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// The captures of clients keep their meaning, each alone and all in one message.
func TestCaptures(t *testing.T) {
	var all []pprofile.Profiles
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, payload := range profiletest.ClientPayloads(t) {
		if payload.Legacy {
			continue
		}
		pd, _, err := decoder.Decode(payload.Data, pprof.Source{})
		require.NoError(t, err)
		after := requireSameMeaning(t, payload.File, pd)
		if after.ProfileCount() == 1 {
			assert.Equal(t, payload.DistinctStackAndLabels, after.SampleCount(), payload.File)
		}
		all = append(all, after)
	}
	paths := must.Get(filepath.Glob(filepath.Join(profiletest.Testdata(t, "splunk"), "*", "*.pb")))(t)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		body := must.Get(os.ReadFile(path))(t)
		logs := must.Get((&plog.ProtoUnmarshaler{}).UnmarshalLogs(body))(t)
		pd, _ := splunk.NewDecoder(splunk.Options{}).Decode(logs, 1, nil)
		all = append(all, requireSameMeaning(t, path, pd))
	}
	requireSameMeaning(t, "all", dedup.Join(all))
}

// requireSameMeaning deduplicates a message, compares the meaning, and returns the result.
func requireSameMeaning(t *testing.T, name string, pd pprofile.Profiles) pprofile.Profiles {
	t.Helper()
	before := clone(pd)
	after, stats := deduplicate(t, pd)
	require.Empty(t, profiletest.Diff(before, after), name)
	requireCanonical(t, after)
	assert.Zero(t, stats.Invalid, name)
	requireStrict(t, name, before)
	return after
}

// requireStrict: by default, the processor makes of a message one that keeps all rules of strict readers.
func requireStrict(t *testing.T, name string, pd pprofile.Profiles) dedup.Stats {
	t.Helper()
	d := dedup.New(dedup.Options{DropPartialLinks: true, ClearNegativeLines: true, NameFunctions: true, WidenTimes: true})
	after, stats, err := d.Deduplicate(pd)
	require.NoError(t, err, name)
	require.NoError(t, profiletest.CheckOptions{Deduplicated: true}.Check(after), name)
	return stats
}

// TestPprofNeedsNoDeduplication: the encoder of pprofs combines equal samples itself. So configurations that write pprofs of what the
// receivers of this project translate have no deduplicator.
func TestPprofNeedsNoDeduplication(t *testing.T) {
	encoded := func(pd pprofile.Profiles) (all []string) {
		for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
			require.NoError(t, err)
			all = append(all, string(payload.Pprof))
		}
		return all
	}
	changed := 0
	compare := func(name string, pd pprofile.Profiles) {
		before := encoded(pd)
		pd, stats := deduplicate(t, pd)
		assert.True(t, slices.Equal(before, encoded(pd)), name)
		if stats.Changed {
			changed++
		}
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, payload := range profiletest.ClientPayloads(t) {
		if !payload.Legacy {
			pd, _, err := decoder.Decode(payload.Data, pprof.Source{})
			require.NoError(t, err)
			compare(payload.File, pd)
		}
	}
	for _, file := range profiletest.OwnPprofs(t) {
		pd, _, err := decoder.Decode(file.Bytes(t), pprof.Source{})
		require.NoError(t, err)
		compare(file.Name, pd)
	}
	assert.Greater(t, changed, 5, "messages are not canonical before")
}

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
		p := must.Get(profile.ParseData(payload.Pprof))(t)
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
