// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// newSmallDisk mounts a file system of 256 KiB below an exporter.
func newSmallDisk(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a real full disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(directory, 0)) })
	return newFixture(t, func(cfg *Config) {
		cfg.File.Get().Directory = directory
		if change != nil {
			change(cfg)
		}
	})
}

// The disk becomes full in the middle of a request. The files that were written remain, and the exporter retries the others until
// there is space. Each profile is written and counted once. The status reports the error.
func TestFullDisk(t *testing.T) {
	f := newSmallDisk(t, func(cfg *Config) {
		cfg.RetryConfig.Enabled = true
		cfg.RetryConfig.InitialInterval = 5 * time.Millisecond
		cfg.RetryConfig.MaxInterval = 5 * time.Millisecond
	})
	heap := deliverytest.Decode(t, deliverytest.OwnProfile(t, "heap.pb.gz"), map[string]any{"service.name": "large"})
	pd := deliverytest.Request(t, deliverytest.CPU(t, "first"), heap, deliverytest.CPU(t, "last"))
	done := make(chan error)
	go func() { done <- f.ConsumeProfiles(t.Context(), pd) }()
	require.Eventually(t, func() bool { return len(f.host.statuses()) == 1 }, deliverytest.Patience, time.Millisecond)
	event := f.host.first()
	assert.Equal(t, componentstatus.StatusRecoverableError, event.Status())
	require.ErrorIs(t, event.Err(), syscall.ENOSPC)
	assert.Equal(t, 1, f.services(t)["first"])

	require.NoError(t, syscall.Mount("", f.directory, "", syscall.MS_REMOUNT, "size=8m"))
	require.NoError(t, <-done)
	assert.Equal(t, map[string]int{"first": 1, "large": 1, "last": 1}, f.services(t), "and no temporary file")
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, f.host.statuses())
	f.assertPoints(t, "files_written", points(3))
	_, err := f.telemetry.GetMetric("otelcol_exporter_pprof_files_unchanged")
	assert.Error(t, err, "what was written did not come again")
	for _, file := range f.files(t) {
		f.read(t, file)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	f := newSmallDisk(t, nil)
	require.NoError(t, syscall.Mount("", f.directory, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	for range 2 {
		err := f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a"))
		require.Error(t, err)
		assert.False(t, consumererror.IsPermanent(err), "an operator may help")
		require.ErrorIs(t, err, syscall.EROFS)
	}
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusPermanentError}, f.host.statuses())
	f.assertPoints(t, "write_failures", points(2, because("denied")))
	require.NoError(t, syscall.Mount("", f.directory, "", syscall.MS_REMOUNT, ""))
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
}
