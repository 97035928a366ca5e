// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
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
	content := must.Get(os.ReadFile(names[0]))(t)
	parsed := must.Get(profile.ParseData(content))(t)
	require.NoError(t, parsed.CheckValid())
	return parsed
}

// readProfile returns one of the project's own profiles, as it stands in testdata.
func readProfile(t *testing.T, name string) []byte {
	t.Helper()
	content := must.Get(os.ReadFile(profiletest.Testdata(t, "pprof", name+".pb.gz")))(t)
	return content
}

// TestUploadsWithoutTime: two uploads of one service that have no time are joined by a batch. They stay two pprofs, with the times of
// their arrival.
func TestUploadsWithoutTime(t *testing.T) {
	g := start(t, `yaml:
processors: {profile_deduplicator: {batch: {wait_for_result: false, timeout: 1s}}}
service: {pipelines: {profiles: {processors: [profile_deduplicator]}}}
`)
	begin := time.Now()
	for _, sampleType := range []string{"cpu", "mem"} {
		upload := &profile.Profile{SampleType: []*profile.ValueType{{Type: sampleType, Unit: "count"}}}
		upload.Function = []*profile.Function{{ID: 1, Name: "main"}}
		upload.Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: upload.Function[0]}}}}
		upload.Sample = []*profile.Sample{{Location: upload.Location, Value: []int64{1}}}
		var body bytes.Buffer
		require.NoError(t, upload.Write(&body))
		g.accept(t, "?service.name=checkout", body.Bytes())
	}
	g.waitForFiles(t, 2)
	var directories []string
	for _, file := range g.files(t) {
		directories = append(directories, path.Dir(file))
		written := must.Get(time.Parse("20060102T150405.000000000Z", strings.SplitN(path.Base(file), "-", 2)[0]))(t)
		assert.False(t, written.Before(begin), file)
	}
	assert.ElementsMatch(t, []string{"checkout/cpu", "checkout/mem"}, directories)
}

// TestOddTimes: profiles of hosts whose clocks are wrong pass with the time that they have, through retention and through
// the removal of repeated ones. What is kept is decided by when they came.
func TestOddTimes(t *testing.T) {
	g := start(t, "yaml:exporters::pprof::file::max_age: 1h",
		"yaml:processors: {profile_deduplicator: {drop_repeated: {ttl: 1m}}}",
		"yaml:service::pipelines::profiles::processors: [profile_deduplicator]")
	parsed := must.Get(profile.ParseData(readProfile(t, "cpu")))(t)
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
		content := must.Get(os.ReadFile(filepath.Join(g.directory, name)))(t)
		got := must.Get(profile.ParseData(content))(t)
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
