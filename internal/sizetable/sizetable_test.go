// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUploadsOfOneService(t *testing.T) {
	messages, err := uploads(profiletest.Corpus(t))
	require.NoError(t, err)
	require.Len(t, messages, numUploads)
	r, err := newRow("uploads", messages)
	require.NoError(t, err)
	assert.Less(t, 4*r.joined.plain, r.received.plain)
	assert.Less(t, r.merged.plain, r.joined.plain)
	assert.Less(t, r.joined.gzip, r.joined.plain)
	assert.Less(t, r.joined.zstd, r.joined.plain)
	var out strings.Builder
	r.write(&out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4)
	assert.True(t, strings.HasPrefix(lines[0], "| 50 uploads | received | 800 | 293,"), lines[0])
	assert.True(t, strings.HasPrefix(lines[2], "|  | joined | 800 | "), lines[2])
}

// What the tables say of the inputs is worth something only if they are the OTEP's.
func TestInputsOfTheOTEP(t *testing.T) {
	var out strings.Builder
	require.NoError(t, otepTables(&out, profiletest.Corpus(t)))
	rows := strings.Count(out.String(), "\n| ") + strings.Count(out.String(), "\n|  |")
	assert.GreaterOrEqual(t, rows, 4*3)
	for _, input := range []string{"| average | pprof |", "| average with timestamps | pprof |", "| ruby | pprof |", "| large | pprof |"} {
		assert.Contains(t, out.String(), input)
	}
}
