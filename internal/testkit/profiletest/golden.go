// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Golden compares a text with a file in testdata/formats, or writes it there.
func Golden(tb testing.TB, name, got string, update bool) {
	tb.Helper()
	path := Testdata(tb, "formats", name)
	if update {
		require.NoError(tb, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(tb, err)
	assert.Equal(tb, string(want), got)
}

// Format returns a file in testdata/formats.
func Format(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(Testdata(tb, "formats", name))
	require.NoError(tb, err)
	return content
}

// ValueSums adds up the values of all profiles of a message, by type/unit.
func ValueSums(pd pprofile.Profiles) map[string]int64 {
	sums := map[string]int64{}
	text := pd.Dictionary().StringTable()
	for _, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				name := text.At(int(p.SampleType().TypeStrindex())) + "/" + text.At(int(p.SampleType().UnitStrindex()))
				for _, sample := range p.Samples().All() {
					for _, value := range sample.Values().All() {
						sums[name] += value
					}
				}
			}
		}
	}
	return sums
}

// PprofSums does so for a pprof.
func PprofSums(tb testing.TB, sums map[string]int64, content []byte) {
	tb.Helper()
	parsed, err := profile.ParseData(content)
	require.NoError(tb, err)
	require.NoError(tb, parsed.CheckValid())
	for _, sample := range parsed.Sample {
		for i, value := range sample.Value {
			sums[parsed.SampleType[i].Type+"/"+parsed.SampleType[i].Unit] += value
		}
	}
}
