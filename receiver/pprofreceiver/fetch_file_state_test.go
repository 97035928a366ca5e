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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
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

// TestFileDirectoryAway: files whose directory was away for some rounds, or was an empty mount point, are not read again, also after
// a restart meanwhile. After a day they are forgotten.
func TestFileDirectoryAway(t *testing.T) {
	directory, elsewhere := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	id := component.MustNewID("file_storage")
	keeper := &storedMemory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{id: keeper}}
	start := func() *running { return runFiles(t, host, directory, func(cfg *FileConfig) { cfg.Storage = &id }) }
	top := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
	put(t, plain(t, cpuProfile(1)), directory, "a", "b", "y.pb.gz")
	r := start()
	require.Equal(t, 2, r.round(t))

	require.NoError(t, os.Rename(directory, elsewhere))
	require.Equal(t, 2, r.round(t))
	require.NoError(t, os.Mkdir(directory, 0o750))
	require.Equal(t, 2, r.round(t))
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	r = start()
	require.Zero(t, r.round(t))
	require.NoError(t, os.Remove(directory))
	require.NoError(t, os.Rename(elsewhere, directory))
	require.Zero(t, r.round(t), "they were read before")

	require.NoError(t, os.RemoveAll(directory))
	require.Zero(t, r.round(t))
	f := r.receiver.sections[0].(*files)
	require.Len(t, f.missing, 2)
	f.missing[top] = f.missing[top].Add(-forgetAfter)
	require.Zero(t, r.round(t))
	assert.NotContains(t, f.state.read, top, "forgotten")
	assert.Len(t, f.state.read, 1)
	assert.Len(t, f.missing, 1)
}

// TestFileMovedSpelling: moved files are not read again, however the pattern and move_to spell the directory.
func TestFileMovedSpelling(t *testing.T) {
	for name, spell := range map[string]func(directory, link string) (include, moveTo string){
		"relative pattern":   func(directory, _ string) (string, string) { return "**/*", filepath.Join(directory, "done") },
		"relative directory": func(directory, _ string) (string, string) { return filepath.Join(directory, "**", "*"), "done" },
		"link in pattern": func(directory, link string) (string, string) {
			return filepath.Join(link, "**", "*"), filepath.Join(directory, "done")
		},
		"link in directory": func(directory, link string) (string, string) {
			return filepath.Join(directory, "**", "*"), filepath.Join(link, "done")
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(directory, link))
			t.Chdir(directory)
			r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Include, cfg.MoveTo = spell(directory, link) })
			put(t, plain(t, cpuProfile(1)), directory, "a", "x.pb.gz")
			for range 3 {
				require.Equal(t, 1, r.round(t))
			}
			assert.Equal(t, []string{"x.pb.gz"}, names(t, filepath.Join(directory, "done")))
			require.NoError(t, os.RemoveAll("done"))
			require.Equal(t, 1, r.round(t), "without the directory")
		})
	}
}

// TestFileListedTwice: a file that the pattern lists several times is read once, also while it waits for its result.
func TestFileListedTwice(t *testing.T) {
	directory := t.TempDir()
	put(t, plain(t, cpuProfile(1)), directory, "p", "p", "x.pb.gz")
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) {
		cfg.Include = filepath.Join(directory, "**", "p", "**", "*.pb.gz")
	})
	r.sink.set(func(context.Context) error {
		time.Sleep(20 * time.Millisecond) // time for the second one
		return nil
	})
	assert.Equal(t, 1, r.round(t))
}
