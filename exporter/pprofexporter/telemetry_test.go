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
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadatatest"
)

// points returns data points with at most one attribute beside the name of the exporter.
func points(value int64, attributes ...attribute.KeyValue) []metricdata.DataPoint[int64] {
	set := attribute.NewSet(append(attributes, attribute.String("exporter", "pprof"))...)
	return []metricdata.DataPoint[int64]{{Value: value, Attributes: set}}
}

func because(reason string) attribute.KeyValue { return attribute.String("reason", reason) }

// onlyValues ignores the times and exemplars of the data points.
func onlyValues() []metricdatatest.Option {
	return []metricdatatest.Option{metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars()}
}

func (f *fixture) totalSize(tb testing.TB) int64 {
	tb.Helper()
	var total int64
	for _, file := range f.files(tb) {
		info, err := os.Stat(filepath.Join(f.directory, file))
		require.NoError(tb, err)
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
	metadatatest.AssertEqualExporterPprofFilesWritten(t, f.telemetry, points(1), onlyValues()...)
	metadatatest.AssertEqualExporterPprofFilesUnchanged(t, f.telemetry, points(1), onlyValues()...)
	metadatatest.AssertEqualExporterPprofProfilesWritten(t, f.telemetry, points(4), onlyValues()...)
	metadatatest.AssertEqualExporterPprofSamplesWritten(t, f.telemetry, points(samples), onlyValues()...)
	metadatatest.AssertEqualExporterPprofBytesWritten(t, f.telemetry, points(f.totalSize(t)), onlyValues()...)

	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	metadatatest.AssertEqualExporterPprofFilesRenamed(t, f.telemetry, points(1), onlyValues()...)
	metadatatest.AssertEqualExporterPprofFilesWritten(t, f.telemetry, points(2), onlyValues()...)
	metadatatest.AssertEqualExporterPprofBytesWritten(t, f.telemetry, points(f.totalSize(t)), onlyValues()...)
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
	metadatatest.AssertEqualExporterPprofPartsLost(t, f.telemetry, append(
		points(0, attribute.String("kind", "attribute")),
		points(3, attribute.String("kind", "timestamp"))...), onlyValues()...)
}

func TestMetricsOfRefusals(t *testing.T) {
	f := newFixture(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(f.directory, "blocked"), nil, 0o600))
	pd := deliverytest.Request(t, deliverytest.CPU(t, "bad"), deliverytest.CPU(t, "blocked"))
	profiles := int64(deliverytest.Spoil(pd, 0))
	require.Error(t, f.ConsumeProfiles(t.Context(), pd))
	metadatatest.AssertEqualExporterPprofProfilesRefused(t, f.telemetry, append(
		points(profiles, because("invalid")), points(profiles, because("blocked"))...), onlyValues()...)
	_, err := f.telemetry.GetMetric("otelcol_exporter_pprof_write_failures")
	assert.Error(t, err, "a refusal is not repeated")
}

func TestMetricsOfFailures(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Directory = filepath.Join(cfg.File.Get().Directory, "profiles") })
	require.NoError(t, os.RemoveAll(f.directory))
	require.NoError(t, os.WriteFile(f.directory, nil, 0o600))
	require.Error(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	require.Error(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	metadatatest.AssertEqualExporterPprofWriteFailures(t, f.telemetry, points(2, because("other")), onlyValues()...)
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
	metadatatest.AssertEqualExporterPprofFilesRemoved(t, byAge.telemetry, points(1, because("age")), onlyValues()...)
	metadatatest.AssertEqualExporterPprofBytesRemoved(t, byAge.telemetry, points(size, because("age")), onlyValues()...)
	metadatatest.AssertEqualExporterPprofHeldFiles(t, byAge.telemetry, points(2), onlyValues()...)
	const block = 4096
	onDisk := (size+block-1)/block*block + 2*block // a file and two directories
	metadatatest.AssertEqualExporterPprofHeldBytes(t, byAge.telemetry, points(2*onDisk), onlyValues()...)

	bySize := newFixture(t, in(func(file *FileConfig) { file.MaxTotalSize = onDisk }))
	require.Eventually(t, func() bool { return len(f.files(t)) == 1 }, deliverytest.Patience, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := bySize.telemetry.GetMetric("otelcol_exporter_pprof_bytes_removed")
		return err == nil
	},
		deliverytest.Patience, time.Millisecond)
	metadatatest.AssertEqualExporterPprofFilesRemoved(t, bySize.telemetry, points(1, because("size")), onlyValues()...)
	metadatatest.AssertEqualExporterPprofBytesRemoved(t, bySize.telemetry, points(size, because("size")), onlyValues()...)
}
