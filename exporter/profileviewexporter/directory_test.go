// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// stop shuts the exporter down before the end of the test.
func (s *serving) stop(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, s.Shutdown(context.WithoutCancel(t.Context())))
}

// filesOf returns the files in a directory.
func filesOf(t *testing.T, directory string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// After a restart, all answers are the same.
func TestDirectoryOverRestart(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "profiles")
	change := func(cfg *Config) { cfg.Tenant.MetadataKey, cfg.Directory = "x-tenant", directory }
	s := newServing(t, change)
	of := func(tenant string) context.Context {
		return client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"x-tenant": {tenant}})})
	}
	now := time.Now()
	heap := func(i int) map[string]any {
		return map[string]any{"service.name": "checkout", "k8s.pod.name": fmt.Sprint("p", i)}
	}
	for i := range 3 {
		pd := deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 10, int64(i+1)), heap(i))
		require.NoError(t, s.ConsumeProfiles(of("one"), pd))
		require.NoError(t, s.ConsumeProfiles(of("one"), pd), "the same again")
	}
	require.NoError(t, s.ConsumeProfiles(of("two"), deliverytest.CPU(t, "secret")))
	require.NoError(t, s.ConsumeProfiles(of("one"), deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": "checkout"})))
	pages := []string{
		"/profiles/checkout/inuse_space", "/profiles/checkout/cpu", "/pgo/checkout", "/profiles/checkout/inuse_space?resource.k8s.pod.name=p1",
		"/functions?" + selecting(cpuID, `{service_name="checkout"}`),
	}
	answers := func(s *serving) (all []string) {
		for _, page := range pages {
			response, body := s.get(t, page, "X-Scope-OrgID", "one")
			require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", page, body)
			all = append(all, string(body))
		}
		return all
	}
	want := answers(s)
	s.stop(t)

	files := filesOf(t, directory)
	require.Len(t, files, 5, "equal uploads are one file")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotEmpty(t, deliverytest.Parsed(t, raw).Sample, "go tool pprof reads it")
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}

	again := newServing(t, change)
	for i, answer := range answers(again) {
		if want[i] != answer { // assert.Equal would write them in full.
			t.Errorf("%s: %.300q, was %.300q", pages[i], answer, want[i])
		}
	}
	assert.EqualValues(t, 5, counted(t, again.telemetry, "profiles_restored", "", ""))
	require.Eventually(t, func() bool {
		_, err := again.telemetry.GetMetric(metricPrefix + "stored_profiles")
		return err == nil // after the first walk
	}, deliverytest.Patience, time.Millisecond)
	assert.EqualValues(t, 5, gauge(t, again.telemetry, "stored_profiles"))
	assert.Positive(t, gauge(t, again.telemetry, "stored_bytes"))
	response, _ := again.get(t, "/profiles/secret/cpu", "X-Scope-OrgID", "one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "of another tenant")
	response, _ = again.get(t, "/profiles/secret/cpu", "X-Scope-OrgID", "two")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	// Equal uploads count once. A scraper, which adds up its answers, does not receive the profiles of an earlier run again.
	for i := range 3 {
		pd := deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 10, int64(i+1)), heap(i))
		require.NoError(t, again.ConsumeProfiles(of("one"), pd))
	}
	_, body := again.get(t, pages[0], "X-Scope-OrgID", "one")
	assert.Equal(t, []int64{30, 6}, totals(t, body))
	response, _ = again.get(t, pages[0]+"?scraper=a", "X-Scope-OrgID", "one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	require.NoError(t, again.ConsumeProfiles(of("one"), deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 50, 5), map[string]any{"service.name": "checkout"})))
	_, body = again.get(t, pages[0]+"?scraper=a", "X-Scope-OrgID", "one")
	assert.Equal(t, []int64{50, 5}, totals(t, body))
}

// A file that cannot be read is counted, and does not prevent the start. Old files are removed.
func TestDirectoryDamageAndAge(t *testing.T) {
	directory := t.TempDir()
	change := func(cfg *Config) { cfg.Directory = directory }
	s := newServing(t, change)
	for i := range 4 {
		s.post(t, made(t, day.Add(time.Duration(i)*time.Minute), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	}
	s.stop(t)
	files := filesOf(t, directory)
	require.Len(t, files, 4)
	require.NoError(t, os.WriteFile(files[0], []byte("damaged"), 0o600))
	require.NoError(t, os.WriteFile(files[1], made(t, day, []string{"samples"}, 1), 0o600))

	s = newServing(t, change)
	_, body := s.get(t, "/profiles/s/samples")
	assert.Equal(t, []int64{2}, totals(t, body))
	assert.EqualValues(t, 2, counted(t, s.telemetry, "storage_failures", "operation", "read"))
	assert.EqualValues(t, 2, counted(t, s.telemetry, "profiles_restored", "", ""))
	s.stop(t)

	for _, file := range files {
		old := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(file, old, old))
	}
	s = newServing(t, change)
	response, _ := s.get(t, "/profiles/s/samples")
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "older than max_age")
	// A file counts after it is gone. Meanwhile the directory must not be read: its parents are removed, too.
	require.Eventually(t, func() bool { return counted(t, s.telemetry, "storage_dropped", "reason", "age") == 4 }, deliverytest.Patience, 10*time.Millisecond)
	assert.Empty(t, filesOf(t, directory))
}

// A hostile message: each of its files would repeat long attributes.
func TestFilesRepeatFewAttributes(t *testing.T) {
	const size, profiles = 4 << 20, 40
	directory := t.TempDir()
	s := newServing(t, func(cfg *Config) { cfg.Directory = directory })
	pd, attributes := atTimes(profiles)
	attributes.PutStr("service.name", "s")
	attributes.PutStr("a", strings.Repeat("a", size))
	require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	const written = maxDescribed/size - 1
	assert.Len(t, filesOf(t, directory), written)
	assert.EqualValues(t, profiles-written, counted(t, s.telemetry, "storage_failures", "operation", "write"))
}

// Neither the start nor a new profile waits for a restore, and a page only for a second. The profiles of an earlier run come behind those
// that arrive, as soon as there is memory for them.
func TestStartDoesNotWaitForMemory(t *testing.T) {
	directory := t.TempDir()
	change := func(cfg *Config) { cfg.Directory = directory }
	first := newServing(t, change)
	for i := range 4 {
		first.post(t, made(t, day.Add(time.Duration(i)*time.Minute), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	}
	first.stop(t)

	budget := memory.New(64<<20, time.Millisecond)
	held := budgettest.Hold(t, budget, budget.Size())
	s := newHosted(t, budgettest.NewHost(budget), change)
	assert.Zero(t, counted(t, s.telemetry, "profiles_restored", "", ""))
	held.Shrink(budget.Size() / 2)
	s.post(t, made(t, day.Add(time.Hour), []string{"samples"}, 10), map[string]any{"service.name": "s"})
	path := "/profiles/s/samples?scraper=a"
	_, body := s.get(t, path)
	assert.Equal(t, []int64{10}, totals(t, body), "a scraper does not get profiles of an earlier run")
	require.Eventually(t, func() bool { return counted(t, s.telemetry, "profiles_restored", "", "") == 4 }, deliverytest.Patience, time.Millisecond)
	_, body = s.get(t, "/profiles/s/samples")
	assert.Equal(t, []int64{14}, totals(t, body))
	response, _ := s.get(t, path)
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	held.Release()
}

// A shutdown does not wait for a restore that waits for memory.
func TestShutdownEndsRestore(t *testing.T) {
	directory := t.TempDir()
	change := func(cfg *Config) { cfg.Directory = directory }
	first := newServing(t, change)
	first.post(t, deliverytest.SmallCPU(t), map[string]any{"service.name": "s"})
	first.stop(t)

	budget := memory.New(64<<20, time.Hour)
	held := budgettest.Hold(t, budget, budget.Size())
	s := newHosted(t, budgettest.NewHost(budget), change)
	s.stop(t)
	assert.Zero(t, counted(t, s.telemetry, "storage_failures", "", ""))
	held.Release()
	used, _ := budget.Used()
	assert.Zero(t, used)
}

// Without permission to write, the exporter does not start, and says why.
func TestDirectoryThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	e := create(t, func(cfg *Config) { cfg.Directory = file })
	err := e.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "cannot open the directory of profiles")
	require.NoError(t, e.Shutdown(t.Context()))
}
