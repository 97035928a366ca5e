// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// timeless returns a message with one profile that has no time.
func timeless(t *testing.T) pprofile.Profiles {
	t.Helper()
	p, err := profile.ParseData(deliverytest.SmallCPU(t))
	require.NoError(t, err)
	p.TimeNanos = 0
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	pd := deliverytest.Decode(t, out.Bytes(), map[string]any{"service.name": "a"})
	pd.MarkReadOnly()
	return pd
}

// Three equal uploads without a time become three files. Their names have the times of arrival. Their bytes and ids are equal.
func TestArrival(t *testing.T) {
	f := newFixture(t, nil)
	hour := 0
	f.Profiles.(*arrivalTimes).now = func() time.Time {
		hour++
		return time.Date(2026, 11, 22, hour, 0, 0, 7, time.UTC)
	}
	for range 3 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	}
	files := f.files(t)
	require.Len(t, files, 3)
	var ids, contents []string
	for i, file := range files {
		name, id, found := strings.Cut(strings.TrimPrefix(file, "a/cpu/"), "-")
		require.True(t, found)
		assert.Equal(t, time.Date(2026, 11, 22, i+1, 0, 0, 7, time.UTC).Format("20060102T150405.000000000Z"), name)
		content, err := os.ReadFile(filepath.Join(f.directory, file))
		require.NoError(t, err)
		ids, contents = append(ids, id), append(contents, string(content))
		assert.Zero(t, f.read(t, file).TimeNanos, "the pprof is as it was")
	}
	for i := range files {
		assert.Equal(t, ids[0], ids[i])
		assert.Equal(t, contents[0], contents[i])
	}
}

func TestTimeOfItsOwn(t *testing.T) {
	f := newFixture(t, nil)
	f.Profiles.(*arrivalTimes).now = func() time.Time { t.Error("a profile with a time has no other"); return time.Now() }
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	assert.Len(t, f.files(t), 1)
}

func TestTimeKeep(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Time = TimeKeep })
	for range 3 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	}
	require.Len(t, f.files(t), 1, "the same upload, the same name")
	assert.Contains(t, f.files(t)[0], "19700101T000000.000000000Z-")
}

// The time in the name is that of the first attempt, however late the file is written.
func TestArrivalOfRepetition(t *testing.T) {
	f := newFixture(t, func(cfg *Config) {
		cfg.File.Get().Directory = filepath.Join(cfg.File.Get().Directory, "profiles")
		cfg.RetryConfig.Enabled = true
		cfg.RetryConfig.InitialInterval, cfg.RetryConfig.MaxInterval = 5*time.Millisecond, 5*time.Millisecond
		cfg.QueueConfig = configoptional.Some(exporterhelper.NewDefaultQueueConfig())
	})
	var calls atomic.Int64
	f.Profiles.(*arrivalTimes).now = func() time.Time { return time.Unix(1_800_000_000+calls.Add(1), 0) }
	require.NoError(t, os.RemoveAll(f.directory))
	require.NoError(t, os.WriteFile(f.directory, nil, 0o600))
	require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	require.Eventually(t, func() bool { return len(f.host.statuses()) > 0 }, deliverytest.Patience, time.Millisecond)
	require.NoError(t, os.Remove(f.directory))
	require.Eventually(t, func() bool { return f.services(t)["a"] == 1 && len(f.host.statuses()) > 1 }, deliverytest.Patience, time.Millisecond)
	assert.Contains(t, f.files(t)[0], time.Unix(1_800_000_001, 0).UTC().Format("20060102T150405"))
}
