// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashDirectory) != "" {
		writeUntilKilled()
	}
	goleak.VerifyTestMain(m)
}

// newOptions returns options of a store that owns every .pb.gz file two levels deep. An error in the background fails the test.
func newOptions(t *testing.T, directory string) Options {
	t.Helper()
	return Options{
		Directory:     directory,
		FileMode:      0o640,
		DirectoryMode: 0o750,
		Level:         1,
		Owns:          func(path string) bool { return strings.HasSuffix(path, ".pb.gz") && strings.Count(path, "/") == 2 },
		Depth:         3,
		OnRemove:      func(Reason, int64) {},
		OnError:       func(err error) { t.Errorf("error in the background: %v", err) },
	}
}

func newStore(t *testing.T, options Options) *Store {
	t.Helper()
	s := must.Get(Open(options))(t)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// below returns the path of the file name.
func below(directory, name string) string { return filepath.Join(directory, filepath.FromSlash(name)) }

// tree returns the content of each file, inflated if its name ends in .pb.gz, and "dir" for empty directories.
func tree(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		name := must.Get(filepath.Rel(directory, path))(t)
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			if inside, err := os.ReadDir(path); err == nil && len(inside) == 0 && path != directory {
				found[name] = "dir"
			}
		case entry.Type().IsRegular() && strings.HasSuffix(path, ".pb.gz"):
			found[name] = inflate(t, path)
		default:
			found[name] = entry.Type().String()
		}
		return nil
	}))
	return found
}

func inflate(t *testing.T, path string) string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err, path)
	data, err := io.ReadAll(r)
	require.NoError(t, err, path)
	return string(data)
}

func TestWrite(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "made", "by the store")
	s := newStore(t, newOptions(t, directory))
	result := must.Get(s.Write("checkout/cpu/one.pb.gz", []byte("profile one"), nil))(t)
	info := must.Get(os.Stat(below(directory, "checkout/cpu/one.pb.gz")))(t)
	assert.Equal(t, Result{Name: "checkout/cpu/one.pb.gz", Size: info.Size()}, result)
	assert.Equal(t, fs.FileMode(0o640), info.Mode())
	above := must.Get(os.Stat(below(directory, "checkout")))(t)
	assert.Equal(t, fs.FileMode(0o750)|fs.ModeDir, above.Mode())
	assert.Equal(t, map[string]string{"checkout/cpu/one.pb.gz": "profile one"}, tree(t, directory), "and no temporary file")
}

// A repeated request writes no second file, whatever the level of the compression was.
func TestWriteAgain(t *testing.T) {
	options := newOptions(t, t.TempDir())
	s := newStore(t, options)
	must.Get(s.Write("a/b/one.pb.gz", []byte("profile one"), nil))(t)
	before := must.Get(os.Stat(below(options.Directory, "a/b/one.pb.gz")))(t)

	options.Level = 9
	for _, s := range []*Store{s, newStore(t, options)} {
		result := must.Get(s.Write("a/b/one.pb.gz", []byte("profile one"), nil))(t)
		assert.Equal(t, Result{Name: "a/b/one.pb.gz"}, result)
	}
	after := must.Get(os.Stat(below(options.Directory, "a/b/one.pb.gz")))(t)
	assert.True(t, os.SameFile(before, after))
	assert.Len(t, tree(t, options.Directory), 1)
}

// A profile never replaces another one.
func TestWriteOtherContent(t *testing.T) {
	options := newOptions(t, t.TempDir())
	s := newStore(t, options)
	names := map[string]bool{}
	contents := []string{"one", "two", "one and more", "on", "", strings.Repeat("three", 50_000), strings.Repeat("three", 50_001)}
	for range 2 {
		for i, content := range contents {
			result := must.Get(s.Write("a/b/same.pb.gz", []byte(content), nil))(t)
			assert.Equal(t, i > 0, result.Renamed)
			assert.Equal(t, content, inflate(t, below(options.Directory, result.Name)))
			names[result.Name] = true
		}
	}
	assert.Len(t, names, len(contents))
	assert.Len(t, tree(t, options.Directory), len(contents))
	for name := range names {
		assert.Regexp(t, `^a/b/same(~[0-9a-f]{16})?\.pb\.gz$`, name)
	}
}

// A file that is not shown to have the same profile does not change.
func TestWriteBesideForeignFiles(t *testing.T) {
	options := newOptions(t, t.TempDir())
	s := newStore(t, options)
	require.NoError(t, os.MkdirAll(below(options.Directory, "a/b/directory.pb.gz"), 0o750))
	require.NoError(t, os.WriteFile(below(options.Directory, "a/b/text.pb.gz"), []byte("no gzip"), 0o600))
	require.NoError(t, os.WriteFile(below(options.Directory, "a/b/half.pb.gz"), []byte("\x1f\x8b\x08\x00"), 0o600))
	for _, name := range []string{"a/b/directory.pb.gz", "a/b/text.pb.gz", "a/b/half.pb.gz"} {
		result := must.Get(s.Write(name, []byte("profile"), nil))(t)
		assert.True(t, result.Renamed)
		assert.Equal(t, "profile", inflate(t, below(options.Directory, result.Name)))
	}
	text := must.Get(os.ReadFile(below(options.Directory, "a/b/text.pb.gz")))(t)
	assert.Equal(t, "no gzip", string(text))
}

// Many writers use few names, so that they meet. Each content is written once, and none is lost.
func TestWriteConcurrently(t *testing.T) {
	options := newOptions(t, t.TempDir())
	options.MaxTotalSize = 1 << 40
	s := newStore(t, options)
	var written atomic.Int64
	var wait sync.WaitGroup
	const writers, rounds = 8, 60
	for writer := range writers {
		wait.Go(func() {
			for round := range rounds {
				// Two writers at a time write the same content, four write other content with the same name.
				name := fmt.Sprintf("s%d/t/%d.pb.gz", round%7, round)
				result, err := s.Write(name, fmt.Appendf(nil, "%d of pair %d", round, writer/2), nil)
				assert.NoError(t, err)
				if result.Written() {
					written.Add(1)
				}
			}
		})
	}
	wait.Wait()
	const want = rounds * writers / 2
	assert.EqualValues(t, want, written.Load())
	contents := map[string]bool{}
	for _, content := range tree(t, options.Directory) {
		contents[content] = true
	}
	assert.Len(t, contents, want)
	assert.Len(t, tree(t, options.Directory), want)
}

// Someone removes the directory of a running Collector. The next write creates it again.
func TestDirectoryRemovedMeanwhile(t *testing.T) {
	for _, test := range []struct{ name, remove string }{{"all", "."}, {"one service", "checkout"}} {
		t.Run(test.name, func(t *testing.T) {
			options := newOptions(t, filepath.Join(t.TempDir(), "profiles"))
			options.OnError = func(err error) {
				if !errors.Is(err, fs.ErrNotExist) { // It may be reading the directory just then.
					t.Errorf("error in the background: %v", err)
				}
			}
			s := newStore(t, options)
			must.Get(s.Write("checkout/cpu/one.pb.gz", []byte("one"), nil))(t)
			require.NoError(t, os.RemoveAll(below(options.Directory, test.remove)))
			must.Get(s.Write("checkout/cpu/two.pb.gz", []byte("two"), nil))(t)
			assert.Equal(t, map[string]string{"checkout/cpu/two.pb.gz": "two"}, tree(t, options.Directory))
		})
	}
}

func TestOpenFails(t *testing.T) {
	directory := t.TempDir()
	file := below(directory, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, name := range []string{file, filepath.Join(file, "below"), "bad\x00name"} {
		_, err := Open(newOptions(t, name))
		assert.ErrorContains(t, err, "cannot create the directory", name)
	}
}

func TestWriteAfterClose(t *testing.T) {
	s := must.Get(Open(newOptions(t, t.TempDir())))(t)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err := s.Write("a/b/c.pb.gz", []byte("profile"), nil)
	require.ErrorIs(t, err, fs.ErrClosed)
	assert.Equal(t, ClassOther, ClassOf(err))
}
