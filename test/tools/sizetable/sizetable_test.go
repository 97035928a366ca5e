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

// The tables are only meaningful if the inputs are those of the OTEP.
func TestInputsOfTheOTEP(t *testing.T) {
	for _, input := range otepInputs {
		t.Run(input.name, func(t *testing.T) {
			rows, err := input.measure(profiletest.Corpus(t))
			require.NoError(t, err)
			otep := input.otep[0]
			assert.InEpsilon(t, otep.bytes, rows[0].bytes, 0.02)
			assert.Equal(t, otep.labelSets, rows[0].labelSets)
			for _, row := range rows {
				assert.InEpsilon(t, rows[0].gzipped, row.gzipped, 0.3, row.representation)
				assert.Positive(t, row.retainedObjects, row.representation)
				assert.Greater(t, row.allocations, row.retainedObjects/2, row.representation)
			}
		})
	}
}

// TestNativeTimestamps holds that times take less as timestamps than as labels, in bytes and in objects.
func TestNativeTimestamps(t *testing.T) {
	for _, input := range otepInputs {
		if !input.timestamps {
			continue
		}
		rows, err := input.measure(profiletest.Corpus(t))
		require.NoError(t, err)
		require.Len(t, rows, 5)
		labels, native := rows[2], rows[4]
		assert.Less(t, native.bytes, labels.bytes)
		assert.Less(t, native.retainedObjects, labels.retainedObjects)
		return
	}
	t.Fatal("no input has timestamps")
}

func TestOTEPTables(t *testing.T) {
	var out strings.Builder
	require.NoError(t, otepTables(&out, profiletest.Corpus(t)))
	for _, row := range []string{
		"\n| average | OTEP: pprof | 7,974 | 3,772 | 653 | 1 | 876,968 | 824 |\n", "\n|  | pprof | ", "\n|  | OTLP, native timestamps | ",
		"\n| large | OTEP: pprof | 2,874,764 | 1,110,109 | 350,659 | 27 | ",
	} {
		assert.Contains(t, out.String(), row)
	}
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
	require.NoError(t, levelRow(&out, "labelled", pd, all))
	assert.Equal(t, len(all), strings.Count(out.String(), " ms |"), out.String())
}
