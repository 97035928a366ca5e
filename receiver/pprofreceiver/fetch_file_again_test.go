// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
)

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
