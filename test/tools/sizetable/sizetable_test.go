// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
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
			var out strings.Builder
			r.write(&out)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			require.Len(t, lines, 3, "deduplication alone removes nothing")
			assert.True(t, strings.HasPrefix(lines[0], "| 50 uploads | received | "), lines[0])
			assert.True(t, strings.HasPrefix(lines[1], "|  | joined | "), lines[1])
		})
	}
}
