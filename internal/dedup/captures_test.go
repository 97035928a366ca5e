// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// The captures of clients keep their meaning, each alone and all in one message.
func TestCaptures(t *testing.T) {
	whole := pprofile.NewProfiles()
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, payload := range profiletest.ClientPayloads(t) {
		if payload.Legacy {
			continue
		}
		pd, _, err := decoder.Decode(payload.Data, pprof.Source{})
		require.NoError(t, err)
		after := requireSameMeaning(t, payload.File, pd)
		if profiles(after) == 1 {
			assert.Equal(t, payload.DistinctStackAndLabels, after.SampleCount(), payload.File)
		}
		dedup.Concat(whole, after)
	}
	paths, err := filepath.Glob(filepath.Join(profiletest.Testdata(t, "splunk"), "*", "*.pb"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
		require.NoError(t, err)
		pd, _ := splunk.NewDecoder(splunk.Options{}).Decode(logs, 1, nil)
		dedup.Concat(whole, requireSameMeaning(t, path, pd))
	}
	requireSameMeaning(t, "all", whole)
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
