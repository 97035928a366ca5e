// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestRoundTrip uploads each profile that google/pprof accepts, and reads the same profile from the file.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	t.Run("own", func(t *testing.T) { roundTrip(t, profiletest.OwnPprofs(t)) })
	t.Run("corpus", func(t *testing.T) { roundTrip(t, profiletest.CorpusPprofs(t)) })
	t.Run("scrapes of one application", func(t *testing.T) {
		roundTrip(t, profiletest.CorpusPprofs(t, "scrapes-of-one-app"))
	})
}

func roundTrip(t *testing.T, files []profiletest.PprofFile) {
	t.Helper()
	g := start(t, "yaml:receivers::pprof::server::legacy_formats: true")
	uploaded := 0
	for i, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			want, form := file.Parse(t)
			if form == profiletest.Refused {
				return // What is answered is for the receiver's tests; here it must not get in the way of the others.
			}
			uploaded++
			service, begin := fmt.Sprintf("service-%d", i), time.Now()
			g.accept(t, "?service.name="+service, file.Bytes(t))
			got := g.readFile(t, service)
			if want.TimeNanos == 0 {
				assert.WithinRange(t, time.Unix(0, got.TimeNanos), begin, time.Now(), "the time of its arrival")
				got.TimeNanos = 0
			}
			assert.Empty(t, profiletest.DiffPprof(want, got))
		})
	}
	assert.Len(t, g.files(t), uploaded)
	assert.NotZero(t, uploaded)
}

// readFile waits for the one file of a service and parses it.
func (g *tester) readFile(t *testing.T, service string) *profile.Profile {
	t.Helper()
	var names []string
	require.Eventually(t, func() bool {
		var err error
		names, err = filepath.Glob(filepath.Join(g.directory, service, "*", "*.pb.gz"))
		require.NoError(t, err)
		return len(names) == 1
	}, patience, patience/1000, "no file of %s", service)
	content, err := os.ReadFile(names[0])
	require.NoError(t, err)
	parsed, err := profile.ParseData(content)
	require.NoError(t, err)
	require.NoError(t, parsed.CheckValid())
	return parsed
}

// readProfile returns one of the project's own profiles, as it stands in testdata.
func readProfile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(profiletest.Testdata(t, "pprof", name+".pb.gz"))
	require.NoError(t, err)
	return content
}
