// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUploadsOfOneService(t *testing.T) {
	folders := map[string]string{
		"ten minutes":  profiletest.Testdata(t, "uploads"),
		"four minutes": filepath.Join(profiletest.Corpus(t), "pprof", "scrapes-of-one-app"),
	}
	for name, folder := range folders {
		t.Run(name, func(t *testing.T) {
			messages, err := uploads(folder)
			require.NoError(t, err)
			require.Len(t, messages, numUploads)
			r, err := newRow("uploads", messages)
			require.NoError(t, err)
			assert.Less(t, 3*r.joined.plain, r.received.plain)
			assert.Less(t, r.merged.plain, r.joined.plain)
			assert.Less(t, r.joined.gzip, r.joined.plain)
			assert.Less(t, r.joined.zstd, r.joined.plain)
			var out strings.Builder
			r.write(&out)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			require.Len(t, lines, 3, "deduplication alone removes nothing")
			assert.True(t, strings.HasPrefix(lines[0], "| 50 uploads | received | "), lines[0])
			assert.True(t, strings.HasPrefix(lines[1], "|  | joined | "), lines[1])
		})
	}
}

// TestUploadsSpanTenMinutes: each upload begins where the previous one ends.
func TestUploadsSpanTenMinutes(t *testing.T) {
	messages, err := uploads(profiletest.Testdata(t, "uploads"))
	require.NoError(t, err)
	var first, last time.Time
	for i, message := range messages {
		profile := message.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		begin := profile.Time().AsTime()
		if i == 0 {
			first = begin
		} else {
			assert.WithinRange(t, begin, last, last.Add(2*time.Second), "upload %d", i)
		}
		last = begin.Add(time.Duration(profile.DurationNano()))
	}
	assert.WithinDuration(t, first.Add(10*time.Minute), last, time.Minute)
}

// TestLevels: each compressor makes a message smaller, and the row has all of them.
func TestLevels(t *testing.T) {
	payload, err := os.ReadFile(filepath.Join(profiletest.Testdata(t, "pprof"), "labelled.pb.gz"))
	require.NoError(t, err)
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
	require.NoError(t, err)
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	all, err := compressors()
	require.NoError(t, err)
	for _, c := range all {
		size, _, err := c.compress(message)
		require.NoError(t, err)
		assert.Positive(t, size, c.name)
		assert.Less(t, size, len(message), c.name)
	}
	var out strings.Builder
	require.NoError(t, levelRow(&out, "labelled", message, all))
	assert.Equal(t, len(all), strings.Count(out.String(), " ms |"), out.String())
}
