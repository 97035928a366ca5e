// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// runFiles reads files below a directory, with the change.
func runFiles(t *testing.T, host component.Host, directory string, change func(*FileConfig)) *running {
	t.Helper()
	cfg := fetchConfig()
	section := cfg.File.GetOrInsertDefault()
	section.Schedule, section.Include, section.Settle = soon(), filepath.Join(directory, "**", "*.pb.gz"), 0
	section.IncludeFilePath = true
	if change != nil {
		change(section)
	}
	return runConfig(t, host, cfg)
}

// put writes a file as a program does that takes care: whole, by its name.
func put(t *testing.T, content []byte, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name+".tmp", content, 0o600))
	require.NoError(t, os.Rename(name+".tmp", name))
	return name
}

// paths returns the files that the messages came from, in order.
func (s *sink) paths(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, message := range s.all() {
		path, ok := message.ResourceProfiles().At(0).Resource().Attributes().Get("file.path")
		require.True(t, ok)
		all = append(all, path.Str())
	}
	return all
}

// someRounds waits until the receiver looked at the files a few times more.
func someRounds() { time.Sleep(60 * time.Millisecond) }

// TestFileOnce reads each file once, wherever the pattern finds it, and again when it has changed.
func TestFileOnce(t *testing.T) {
	directory := t.TempDir()
	body := gz(t, plain(t, cpuProfile(2)))
	first := put(t, body, directory, "first.pb.gz")
	put(t, body, directory, "ignored.txt")
	require.NoError(t, os.Mkdir(filepath.Join(directory, "directory.pb.gz"), 0o750))
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	message := r.sink.wait(t, 1)[0]
	assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(message))

	second := put(t, body, directory, "a", "b", "second.pb.gz")
	r.sink.wait(t, 2)
	someRounds()
	assert.Equal(t, []string{first, second}, r.sink.paths(t), "each once")

	put(t, gz(t, plain(t, cpuProfile(3))), directory, "first.pb.gz")
	r.sink.wait(t, 3)
	someRounds()
	assert.Equal(t, []string{first, second, first}, r.sink.paths(t))
	assert.Equal(t, map[string]int64{"samples/count": 6, "cpu/nanoseconds": 60_000_000}, sums(r.sink.all()[2]))

	// The same size at another time is another content, too.
	require.NoError(t, os.Chtimes(second, time.Now(), time.Now().Add(-time.Hour)))
	r.sink.wait(t, 4)
	assert.Equal(t, map[string]int64{"file": 4}, r.counts("otelcol_receiver_pprof_payloads", "api"))
	assert.Equal(t, map[string]int64{"ok": 4}, r.counts("otelcol_receiver_pprof_fetches", "outcome"))
}

// TestFileBeingWritten leaves a file alone until it has not changed for a while, and then reads all of it.
func TestFileBeingWritten(t *testing.T) {
	directory := t.TempDir()
	body := gz(t, plain(t, cpuProfile(2)))
	const settle = time.Second
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Settle = settle })
	file, err := os.Create(filepath.Join(directory, "slow.pb.gz"))
	require.NoError(t, err)
	defer file.Close()
	var last time.Time
	for part := range slices.Chunk(body, len(body)/5+1) {
		last = time.Now()
		_, err := file.Write(part)
		require.NoError(t, err)
		require.Empty(t, r.sink.all())
		time.Sleep(settle / 20)
	}
	r.sink.wait(t, 1)
	assert.GreaterOrEqual(t, time.Since(last), settle-20*time.Millisecond, "but for the grain of a file's time")
	assert.Equal(t, map[string]int64{"ok": 1}, r.counts("otelcol_receiver_pprof_fetches", "outcome"), "no half of it was tried")
}

// TestFileFromTheFuture is read, although its time says that it has just changed.
func TestFileFromTheFuture(t *testing.T) {
	directory := t.TempDir()
	path := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Settle = 50 * time.Millisecond })
	r.sink.wait(t, 1)
}

// TestFileDisposal deletes or moves what was handed on, and nothing else.
func TestFileDisposal(t *testing.T) {
	body := plain(t, cpuProfile(1))
	t.Run("delete", func(t *testing.T) {
		directory := t.TempDir()
		good := put(t, body, directory, "good.pb.gz")
		bad := put(t, []byte("garbage"), directory, "bad.pb.gz")
		r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.DeleteAfterRead = true })
		r.sink.wait(t, 1)
		r.waitOutcome(t, "malformed", 1)
		require.Eventually(t, func() bool { _, err := os.Stat(good); return os.IsNotExist(err) }, 10*time.Second, time.Millisecond)
		assert.FileExists(t, bad)
		someRounds()
		put(t, body, directory, "good.pb.gz")
		r.sink.wait(t, 2)
		assert.EqualValues(t, 1, r.counts("otelcol_receiver_pprof_fetches", "outcome")["malformed"], "what is bad is tried once")
		put(t, body, directory, "bad.pb.gz")
		r.sink.wait(t, 3)
	})
	t.Run("move", func(t *testing.T) {
		directory := t.TempDir()
		done := filepath.Join(directory, "done")
		r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.MoveTo = done })
		for i := range 3 {
			put(t, body, directory, "x.pb.gz")
			r.sink.wait(t, i+1)
			require.Eventually(t, func() bool { return len(names(t, done)) == i+1 }, 10*time.Second, time.Millisecond)
		}
		someRounds()
		assert.Len(t, r.sink.all(), 3, "what was moved is not read again, although the pattern finds it")
		assert.Equal(t, []string{"x.pb.gz", "x.pb.gz.1", "x.pb.gz.2"}, names(t, done))
	})
}

func names(t *testing.T, directory string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// TestFileLater keeps a file for later while the next component refuses it.
func TestFileLater(t *testing.T) {
	directory := t.TempDir()
	put(t, plain(t, cpuProfile(1)), directory, "a.pb.gz")
	put(t, plain(t, cpuProfile(2)), directory, "b.pb.gz")
	host := &watchingHost{}
	refusing := func(context.Context) error { return errors.New("data refused due to high memory usage") }
	cfg := fetchConfig()
	section := cfg.File.GetOrInsertDefault()
	section.Schedule, section.Include, section.Settle, section.DeleteAfterRead = soon(), filepath.Join(directory, "*"), 0, true
	section.Schedule.InitialDelay = 50 * time.Millisecond
	r := runConfig(t, host, cfg)
	r.sink.set(refusing)
	r.waitOutcome(t, "consumer_unavailable", 2)
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "high memory usage")
	assert.Len(t, names(t, directory), 2)
	r.sink.set(nil)
	r.sink.wait(t, 2)
	host.waitFor(t, componentstatus.StatusOK)
	require.Eventually(t, func() bool { return len(names(t, directory)) == 0 }, 10*time.Second, time.Millisecond)
}

// TestFileLimits refuses a file that is too large before it is read, and one that grows so inside.
func TestFileLimits(t *testing.T) {
	directory := t.TempDir()
	put(t, make([]byte, 5000), directory, "large.pb.gz")
	put(t, gzipped(t, zeros(1<<20)), directory, "bomb.pb.gz")
	cfg := fetchConfig()
	cfg.Limits.InflatedBytes = 4000
	section := cfg.File.GetOrInsertDefault()
	section.Schedule, section.Include, section.Settle = soon(), filepath.Join(directory, "*"), 0
	r := runConfig(t, componenttest.NewNopHost(), cfg)
	r.waitOutcome(t, "too_large", 2)
	someRounds()
	assert.Equal(t, map[string]int64{"too_large": 2}, r.counts("otelcol_receiver_pprof_fetches", "outcome"))
}

// TestFileLegacy reads the older formats, unless told otherwise.
func TestFileLegacy(t *testing.T) {
	directory := t.TempDir()
	put(t, []byte(heapText), directory, "x.pb.gz")
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	r.sink.wait(t, 1)

	r = runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.LegacyFormats = false })
	r.waitOutcome(t, "not_pprof", 1)
}

// memory is a storage that outlives receivers.
type memory struct {
	component.StartFunc
	component.ShutdownFunc
	values map[string][]byte
	broken atomic.Bool
	opened int
}

func (m *memory) GetClient(_ context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	m.opened++
	return &memoryClient{memory: m, prefix: kind.String() + id.String() + name}, nil
}

type memoryClient struct {
	*memory
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

// TestFileState remembers over a restart what was read.
func TestFileState(t *testing.T) {
	directory := t.TempDir()
	body := plain(t, cpuProfile(1))
	id := component.MustNewID("file_storage")
	keeper := &memory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{id: keeper}}
	withStorage := func(cfg *FileConfig) { cfg.Storage = &id }

	put(t, body, directory, "a.pb.gz")
	gone := put(t, body, directory, "gone.pb.gz")
	r := runFiles(t, host, directory, withStorage)
	r.sink.wait(t, 2)
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Zero(t, keeper.opened, "closed")

	require.NoError(t, os.Remove(gone))
	b := put(t, body, directory, "b.pb.gz")
	r = runFiles(t, host, directory, withStorage)
	r.sink.wait(t, 1)
	someRounds()
	assert.Equal(t, []string{b}, r.sink.paths(t), "a was read before")
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	for _, state := range keeper.values {
		assert.NotContains(t, string(state), "gone.pb.gz", "what is gone is forgotten")
		assert.Contains(t, string(state), "b.pb.gz")
	}

	keeper.broken.Store(true)
	put(t, body, directory, "c.pb.gz")
	r = runFiles(t, host, directory, withStorage)
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "disk full")
	keeper.broken.Store(false)
	require.NoError(t, r.receiver.Shutdown(t.Context()))
}

func TestFileStateErrors(t *testing.T) {
	id, other := component.MustNewID("file_storage"), component.MustNewID("other")
	broken := &memory{values: map[string][]byte{}}
	host := &watchingHost{extensions: map[component.ID]component.Component{other: &emptyComponent{}, id: broken}}
	broken.values["Receiver"+"pprof"+"file"+"files"] = []byte("{")
	for _, c := range []struct {
		id   component.ID
		says string
	}{
		{component.MustNewID("missing"), "cannot find the storage extension"},
		{other, "is no storage"},
		{id, "cannot restore"},
	} {
		_, err := openFileState(t.Context(), host, component.MustNewID("pprof"), &c.id)
		require.ErrorContains(t, err, c.says)
	}
}

type emptyComponent struct {
	component.StartFunc
	component.ShutdownFunc
}

// TestFileSymlinks reads what a link leads to, and is not confused by one that leads nowhere.
func TestFileSymlinks(t *testing.T) {
	directory, elsewhere := t.TempDir(), t.TempDir()
	file := put(t, plain(t, cpuProfile(1)), elsewhere, "real")
	require.NoError(t, os.Symlink(file, filepath.Join(directory, "link.pb.gz")))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "nothing"), filepath.Join(directory, "broken.pb.gz")))
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	r.sink.wait(t, 1)
	someRounds()
	require.Len(t, r.sink.all(), 1)
	assert.True(t, strings.HasSuffix(r.sink.paths(t)[0], "link.pb.gz"))
}
