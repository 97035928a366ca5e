// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// storedMemory is a storage that survives restarts of the receiver.
type storedMemory struct {
	component.StartFunc
	component.ShutdownFunc
	values map[string][]byte
	broken atomic.Bool
	opened int
}

func (m *storedMemory) GetClient(_ context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	m.opened++
	return &memoryClient{storedMemory: m, prefix: kind.String() + id.String() + name}, nil
}

type memoryClient struct {
	*storedMemory
	prefix string
}

func (c *memoryClient) Get(_ context.Context, key string) ([]byte, error) {
	return c.values[c.prefix+key], nil
}

func (c *memoryClient) Set(_ context.Context, key string, value []byte) error {
	if c.broken.Load() {
		return errors.New("disk full")
	}
	c.values[c.prefix+key] = value
	return nil
}

func (*memoryClient) Delete(context.Context, string) error { return nil }

func (*memoryClient) Batch(context.Context, ...*storage.Operation) error { return nil }

func (c *memoryClient) Close(context.Context) error {
	c.opened--
	return nil
}

// TestFileState: a restarted receiver knows which files were read.
func TestFileState(t *testing.T) {
	directory := t.TempDir()
	body := plain(t, cpuProfile(1))
	id := component.MustNewID("file_storage")
	keeper := &storedMemory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{id: keeper}}
	withStorage := func(cfg *FileConfig) { cfg.Storage = &id }

	put(t, body, directory, "a.pb.gz")
	gone := put(t, body, directory, "gone.pb.gz")
	r := runFiles(t, host, directory, withStorage)
	require.Equal(t, 2, r.round(t))
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Zero(t, keeper.opened, "closed")

	require.NoError(t, os.Remove(gone))
	b := put(t, body, directory, "b.pb.gz")
	r = runFiles(t, host, directory, withStorage)
	require.Equal(t, 1, r.round(t))
	assert.Equal(t, []string{b}, r.sink.paths(t), "a was read before")
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	for _, state := range keeper.values {
		assert.NotContains(t, string(state), "gone.pb.gz", "files that no longer exist are forgotten")
		assert.Contains(t, string(state), "b.pb.gz")
	}

	keeper.broken.Store(true)
	put(t, body, directory, "c.pb.gz")
	r = runFiles(t, host, directory, withStorage)
	require.Equal(t, 1, r.round(t))
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "disk full")
	keeper.broken.Store(false)
	require.NoError(t, r.receiver.Shutdown(t.Context()))
}

// TestFileUndone: a file that could not be moved is moved after a restart, and not read again. The state of an older version, which does not
// tell this, can be read.
func TestFileUndone(t *testing.T) {
	directory := t.TempDir()
	done := filepath.Join(directory, "done")
	id := component.MustNewID("file_storage")
	keeper := &storedMemory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{id: keeper}}
	moving := func(cfg *FileConfig) { cfg.Storage, cfg.MoveTo = &id, done }
	path := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
	r := runFiles(t, host, directory, moving)
	require.NoError(t, os.Remove(done))
	require.Equal(t, 1, r.round(t))
	require.FileExists(t, path)
	require.NoError(t, r.receiver.Shutdown(t.Context()))

	for range 2 {
		r = runFiles(t, host, directory, moving)
		require.Zero(t, r.round(t), "it was read before")
		assert.Equal(t, []string{"x.pb.gz"}, names(t, done))
		require.NoError(t, r.receiver.Shutdown(t.Context()))
	}

	info, err := os.Stat(put(t, plain(t, cpuProfile(1)), directory, "old.pb.gz"))
	require.NoError(t, err)
	old := filepath.Join(directory, "old.pb.gz")
	for key := range keeper.values {
		keeper.values[key] = fmt.Appendf(nil, `{%q:{"size":%d,"mod_time_unix_nano":%d}}`, old, info.Size(), info.ModTime().UnixNano())
	}
	r = runFiles(t, host, directory, moving)
	require.Zero(t, r.round(t), "the state of an older version")
	assert.FileExists(t, old)
}

func TestFileStateErrors(t *testing.T) {
	id, other := component.MustNewID("file_storage"), component.MustNewID("other")
	broken := &storedMemory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{other: &emptyComponent{}, id: broken}}
	broken.values["Receiver"+"pprof"+"file"+"files"] = []byte("{")
	for _, c := range []struct {
		id   component.ID
		says string
	}{
		{component.MustNewID("missing"), "cannot find the storage extension"},
		{other, "is not a storage"},
		{id, "cannot restore"},
	} {
		_, err := openFileState(t.Context(), host, component.MustNewID("pprof"), &c.id)
		require.ErrorContains(t, err, c.says)
		assert.Zero(t, broken.opened, "closed")
	}
}

type emptyComponent struct {
	component.StartFunc
	component.ShutdownFunc
}
