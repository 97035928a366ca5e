// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOddTimes: profiles of hosts whose clocks are wrong pass with the time that they have, through retention and through
// the removal of repeated ones. What is kept is decided by when they came.
func TestOddTimes(t *testing.T) {
	g := start(t, "yaml:exporters::pprof::file::max_age: 1h",
		"yaml:processors: {profile_deduplicator: {drop_repeated: {ttl: 1m}}}",
		"yaml:service::pipelines::profiles::processors: [profile_deduplicator]")
	parsed, err := profile.ParseData(readProfile(t, "cpu"))
	require.NoError(t, err)
	times := map[int64]bool{
		1: true, // 1970
		time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC).UnixNano(): true,
		time.Now().AddDate(1, 0, 0).UnixNano():                      true,
		math.MaxInt64:                                               true, // 2262
	}
	for odd := range times {
		parsed.TimeNanos = odd
		var upload bytes.Buffer
		require.NoError(t, parsed.Write(&upload))
		for range 2 {
			g.accept(t, "?service.name=odd", upload.Bytes())
		}
	}
	for _, name := range g.waitForFiles(t, len(times)) {
		content, err := os.ReadFile(filepath.Join(g.directory, name))
		require.NoError(t, err)
		got, err := profile.ParseData(content)
		require.NoError(t, err)
		assert.True(t, times[got.TimeNanos], "%s has the time %d", name, got.TimeNanos)
		assert.Equal(t, total(parsed), total(got))
		delete(times, got.TimeNanos)
	}
	assert.Empty(t, times)
}

// total is the sum of the first values.
func total(p *profile.Profile) (sum int64) {
	for _, sample := range p.Sample {
		sum += sample.Value[0]
	}
	return sum
}
