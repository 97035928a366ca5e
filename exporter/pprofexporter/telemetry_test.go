// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// points returns data points with at most one attribute beside the name of the exporter.
func points(value int64, attributes ...attribute.KeyValue) []metricdata.DataPoint[int64] {
	set := attribute.NewSet(append(attributes, attribute.String("exporter", "pprof"))...)
	return []metricdata.DataPoint[int64]{{Value: value, Attributes: set}}
}

// assertPoints compares the data points of a counter or gauge.
func (f *fixture) assertPoints(t *testing.T, name string, want []metricdata.DataPoint[int64]) {
	t.Helper()
	metrictest.AssertPoints(t, f.telemetry, "otelcol_exporter_pprof_"+name, want)
}

func because(reason string) attribute.KeyValue { return attribute.String("reason", reason) }

func (f *fixture) totalSize(tb testing.TB) int64 {
	tb.Helper()
	var total int64
	for _, file := range f.files(tb) {
		info := must.Get(os.Stat(filepath.Join(f.directory, file)))(tb)
		total += info.Size()
	}
	return total
}

func TestMetricsOfWrites(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Path = "{service.name}.pb.gz" })
	heap := deliverytest.Decode(t, deliverytest.OwnProfile(t, "heap.pb.gz"), map[string]any{"service.name": "a"})
	require.NoError(t, f.ConsumeProfiles(t.Context(), heap))
	samples := int64(len(f.read(t, "a.pb.gz").Sample))
	require.NoError(t, f.ConsumeProfiles(t.Context(), heap))
	f.assertPoints(t, "files_written", points(1))
	f.assertPoints(t, "files_unchanged", points(1))
	f.assertPoints(t, "profiles_written", points(4))
	f.assertPoints(t, "samples_written", points(samples))
	f.assertPoints(t, "bytes_written", points(f.totalSize(t)))

	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	f.assertPoints(t, "files_renamed", points(1))
	f.assertPoints(t, "files_written", points(2))
	f.assertPoints(t, "bytes_written", points(f.totalSize(t)))
	_, err := f.telemetry.GetMetric("otelcol_exporter_pprof_held_files")
	assert.Error(t, err, "not known where nothing is bounded")
}

func TestMetricsOfLosses(t *testing.T) {
	f := newFixture(t, nil)
	pd := deliverytest.CPU(t, "a")
	sample := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
	sample.Values().FromRaw([]int64{1, 2, 3})
	sample.TimestampsUnixNano().FromRaw([]uint64{1, 2, 3})
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	f.assertPoints(t, "parts_lost", append(
		points(0, attribute.String("kind", "attribute")),
		points(3, attribute.String("kind", "timestamp"))...))
}

func TestMetricsOfRefusals(t *testing.T) {
	f := newFixture(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(f.directory, "blocked"), nil, 0o600))
	pd := deliverytest.Request(t, deliverytest.CPU(t, "bad"), deliverytest.CPU(t, "blocked"))
	profiles := int64(deliverytest.Spoil(pd, 0))
	require.Error(t, f.ConsumeProfiles(t.Context(), pd))
	f.assertPoints(t, "profiles_refused", append(
		points(profiles, because("invalid")), points(profiles, because("blocked"))...))
	_, err := f.telemetry.GetMetric("otelcol_exporter_pprof_write_failures")
	assert.Error(t, err, "a refusal is not repeated")
}

func TestMetricsOfFailures(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Directory = filepath.Join(cfg.File.Get().Directory, "profiles") })
	require.NoError(t, os.RemoveAll(f.directory))
	require.NoError(t, os.WriteFile(f.directory, nil, 0o600))
	require.Error(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	require.Error(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	f.assertPoints(t, "write_failures", points(2, because("other")))
	_, err := f.telemetry.GetMetric("otelcol_exporter_pprof_profiles_refused")
	assert.Error(t, err, "a failure is repeated")
}

func TestMetricsOfRetention(t *testing.T) {
	directory := t.TempDir()
	in := func(change func(*FileConfig)) func(*Config) {
		return func(cfg *Config) {
			cfg.File.Get().Directory = directory
			change(cfg.File.Get())
		}
	}
	f := newFixture(t, in(func(*FileConfig) {}))
	for _, service := range []string{"a", "b", "c"} {
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, service)))
	}
	size := f.totalSize(t) / 3
	old := time.Now().Add(-time.Hour)
	for _, file := range f.files(t) {
		if file[0] == 'a' {
			require.NoError(t, os.Chtimes(filepath.Join(directory, file), old, old))
		}
	}

	byAge := newFixture(t, in(func(file *FileConfig) { file.MaxAge = time.Minute }))
	require.Eventually(t, func() bool { return len(f.files(t)) == 2 }, deliverytest.Patience, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := byAge.telemetry.GetMetric("otelcol_exporter_pprof_bytes_removed")
		return err == nil
	},
		deliverytest.Patience, time.Millisecond)
	byAge.assertPoints(t, "files_removed", points(1, because("age")))
	byAge.assertPoints(t, "bytes_removed", points(size, because("age")))
	byAge.assertPoints(t, "held_files", points(2))
	const block = 4096
	onDisk := (size+block-1)/block*block + 2*block // a file and two directories
	byAge.assertPoints(t, "held_bytes", points(2*onDisk))

	bySize := newFixture(t, in(func(file *FileConfig) { file.MaxTotalSize = onDisk }))
	require.Eventually(t, func() bool { return len(f.files(t)) == 1 }, deliverytest.Patience, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := bySize.telemetry.GetMetric("otelcol_exporter_pprof_bytes_removed")
		return err == nil
	},
		deliverytest.Patience, time.Millisecond)
	bySize.assertPoints(t, "files_removed", points(1, because("size")))
	bySize.assertPoints(t, "bytes_removed", points(size, because("size")))
}
