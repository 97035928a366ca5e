// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// faultyDirectory is a directory of which some operations fail.
type faultyDirectory struct {
	directory
	mu    sync.Mutex
	steps []string
	// synced has the directories whose names were made durable.
	synced map[string]bool
	// fails returns the error of an operation, or nil. step counts the operations so far.
	fails func(step int, operation string) error
	// closed says that the directory was closed, if it is not nil.
	closed *bool
	// top has the steps and faults of a directory with this name in it. It is nil for the store's directory.
	top  *faultyDirectory
	name string
}

func (d *faultyDirectory) Close() error {
	if d.closed != nil {
		*d.closed = true
	}
	return d.directory.Close()
}

func (d *faultyDirectory) sub(name string) (directory, error) {
	opened, err := d.directory.sub(name)
	if err != nil {
		return nil, err
	}
	return &faultyDirectory{directory: opened, top: d, name: name}, nil
}

func (d *faultyDirectory) step(operation string) error {
	if d.top != nil {
		return d.top.step(operation)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, operation)
	if d.fails == nil {
		return nil
	}
	if err := d.fails(len(d.steps), operation); err != nil {
		return &fs.PathError{Op: operation, Path: "test", Err: err}
	}
	return nil
}

func (d *faultyDirectory) set(fails func(int, string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps, d.synced, d.fails = nil, map[string]bool{}, fails
}

func (d *faultyDirectory) create(name string, mode fs.FileMode) (file, error) {
	if err := d.step("create"); err != nil {
		return nil, err
	}
	f, err := d.directory.create(name, mode)
	return faultyFile{f, d}, err
}

func (d *faultyDirectory) Lstat(name string) (fs.FileInfo, error) {
	if err := d.step("lstat"); err != nil {
		return nil, err
	}
	return d.directory.Lstat(name)
}

func (d *faultyDirectory) Mkdir(name string, mode fs.FileMode) error {
	if err := d.step("mkdir"); err != nil {
		return err
	}
	return d.directory.Mkdir(name, mode)
}

func (d *faultyDirectory) Link(from, to string) error {
	if err := d.step("link"); err != nil {
		return err
	}
	return d.directory.Link(from, to)
}

func (d *faultyDirectory) Rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	return d.directory.Rename(from, to)
}

func (d *faultyDirectory) Remove(name string) error {
	if err := d.step("remove"); err != nil {
		return err
	}
	return d.directory.Remove(name)
}

func (d *faultyDirectory) sync(name string) error {
	if err := d.step("sync directory"); err != nil {
		return err
	}
	err := d.directory.sync(name)
	if d.top != nil {
		d, name = d.top, path.Join(d.name, name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.synced != nil && err == nil {
		d.synced[name] = true
	}
	return err
}

type faultyFile struct {
	file
	directory *faultyDirectory
}

// Write writes half of the data before it fails.
func (f faultyFile) Write(data []byte) (int, error) {
	if err := f.directory.step("write"); err != nil {
		n, _ := f.file.Write(data[:len(data)/2])
		return n, err
	}
	return f.file.Write(data)
}

func (f faultyFile) Sync() error {
	if err := f.directory.step("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f faultyFile) Close() error {
	return anyOf(f.file.Close(), f.directory.step("close"))
}

func anyOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func newFaultyStore(t *testing.T, options Options) (*Store, *faultyDirectory) {
	t.Helper()
	faulty := &faultyDirectory{}
	s, err := open(options, func(name string) (directory, error) {
		var err error
		faulty.directory, err = openRoot(name)
		return faulty, err
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s, faulty
}

// Each operation of a write fails in turn, once or several times. Whatever fails, the error has the right class, the next write
// succeeds, the file is counted once, and there is one file in the end.
func TestEachOperationFails(t *testing.T) {
	classes := map[error]string{
		syscall.ENOSPC: ClassFull, syscall.EDQUOT: ClassFull, syscall.EROFS: ClassDenied, syscall.EACCES: ClassDenied, syscall.EIO: ClassOther,
	}
	failed := map[string]bool{}
	for cause, class := range classes {
		for _, lasting := range []bool{false, true} {
			for step := 1; ; step++ {
				operations := failStep(t, step, lasting, cause, class)
				if len(operations) < step {
					require.Greater(t, step, 10)
					break
				}
				failed[operations[step-1]] = true
			}
		}
	}
	for _, operation := range []string{"lstat", "create", "mkdir", "write", "sync", "close", "link", "remove", "sync directory"} {
		assert.True(t, failed[operation], operation)
	}
}

// failStep returns the operations of the write that failed.
func failStep(t *testing.T, step int, lasting bool, cause error, class string) []string {
	t.Helper()
	options := newOptions(t, t.TempDir())
	failures := 0
	options.OnError = func(error) { failures++ }
	s, faulty := newFaultyStore(t, options)
	faulty.set(func(n int, _ string) error {
		if n == step || lasting && n > step {
			return cause
		}
		return nil
	})
	what := fmt.Sprintf("step %d, lasting %t, %v", step, lasting, cause)
	first, err := s.Write("a/b/c.pb.gz", content(step), nil)
	operations := faulty.steps
	switch {
	case err != nil:
		assert.Equal(t, class, ClassOf(err), "%s: %v", what, err)
	case len(operations) >= step: // the write could do without the operation
		assert.Contains(t, []string{"link", "remove"}, operations[step-1], what)
		assert.Equal(t, operations[step-1] == "remove", failures == 1, what)
	}
	faulty.set(nil)
	second, err := s.Write("a/b/c.pb.gz", content(step), nil)
	require.NoError(t, err, what)
	assert.NotEqual(t, first.Written(), second.Written(), "%s: the file is written once", what)
	left := tree(t, options.Directory)
	assert.Equal(t, string(content(step)), left["a/b/c.pb.gz"], what)
	for name := range left {
		assert.True(t, name == "a/b/c.pb.gz" || strings.HasPrefix(name, "a/b/.tmp-"), "%s: %s", what, name)
	}
	if len(left) > 1 { // a temporary file that could not be removed
		assert.Contains(t, strings.Join(operations, " "), "remove", what)
		next := must.Get(Open(options))(t)
		assert.Eventually(t, func() bool {
			found, _ := filepath.Glob(below(options.Directory, "a/b/.tmp-*"))
			return len(found) == 0
		}, time.Minute, time.Millisecond, what)
		require.NoError(t, next.Close())
	}
	return operations
}

// A write that fails leaves no empty directories behind: senders choose their names.
func TestFailedWriteLeavesNoDirectory(t *testing.T) {
	for _, operation := range []string{"mkdir", "create", "write", "sync", "close"} {
		options := newOptions(t, t.TempDir())
		s, faulty := newFaultyStore(t, options)
		done := 0
		faulty.set(func(_ int, step string) error {
			if step == operation {
				if done++; done > 1 || operation != "mkdir" {
					return syscall.ENOSPC // the second mkdir
				}
			}
			return nil
		})
		_, err := s.Write("a/b/c.pb.gz", []byte("profile"), nil)
		require.ErrorIs(t, err, syscall.ENOSPC, operation)
		assert.Empty(t, tree(t, options.Directory), operation)
	}
}

// The order of the operations: after a power failure a file is complete or does not exist, and each file that was reported exists.
func TestOrderOfOperations(t *testing.T) {
	s, faulty := newFaultyStore(t, newOptions(t, t.TempDir()))
	for _, want := range [][]string{
		{
			"mkdir", "sync directory", "mkdir", "sync directory",
			"lstat", "create", "write", "sync", "close", "link", "remove", "sync directory",
		},
		{"lstat", "sync directory"}, // the same again
	} {
		faulty.set(nil)
		must.Get(s.Write("a/b/c.pb.gz", []byte("profile"), nil))(t)
		assert.Equal(t, want, faulty.steps)
	}
}

// Without syncs, a file still gets its name when it is complete.
func TestUnsynced(t *testing.T) {
	faulty := &faultyDirectory{}
	s, err := open(newOptions(t, t.TempDir()), func(name string) (directory, error) {
		var err error
		faulty.directory, err = openRoot(name)
		return unsyncedDirectory{faulty}, err
	})
	require.NoError(t, err)
	defer s.Close()
	faulty.set(nil)
	must.Get(s.Write("a/b/c.pb.gz", []byte("profile"), nil))(t)
	assert.Equal(t, []string{"mkdir", "mkdir", "lstat", "create", "write", "close", "link", "remove"}, faulty.steps)
}

// A write that succeeds has made the names of all directories above its file durable, also of those that another writer created and
// did not sync.
func TestParentsAreDurable(t *testing.T) {
	write := func(s *Store, name string) error {
		_, err := s.Write(name, []byte("profile"), nil)
		return err
	}

	options := newOptions(t, t.TempDir())
	s, faulty := newFaultyStore(t, options)
	syncs := 0
	faulty.set(func(_ int, operation string) error {
		if operation == "sync directory" {
			if syncs++; syncs == 2 { // of a, which has the new name b
				return syscall.EIO
			}
		}
		return nil
	})
	require.ErrorIs(t, write(s, "a/b/c.pb.gz"), syscall.EIO)
	for _, want := range []map[string]bool{
		{".": true, "a": true, "a/b": true}, // the failed write removed its directories
		{"a/b": true},                       // the parents need no other sync
	} {
		faulty.set(nil)
		require.NoError(t, write(s, fmt.Sprintf("a/b/%d.pb.gz", len(want))))
		assert.Equal(t, want, faulty.synced)
	}

	require.NoError(t, os.MkdirAll(filepath.Join(options.Directory, "x", "y"), 0o750))
	faulty.set(nil)
	require.NoError(t, write(s, "x/y/c.pb.gz"))
	assert.Equal(t, map[string]bool{".": true, "x": true, "x/y": true}, faulty.synced)

	require.NoError(t, os.RemoveAll(filepath.Join(options.Directory, "a")))
	faulty.set(nil)
	require.NoError(t, write(s, "a/b/c.pb.gz"))
	assert.Equal(t, map[string]bool{".": true, "a": true, "a/b": true}, faulty.synced, "the directories are new")
}

// The names in a directory that takes the place of the store's directory are not durable yet.
func TestParentsInANewDirectoryAreDurable(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var opened *faultyDirectory
	s, err := open(options, func(name string) (directory, error) {
		d, err := openRoot(name)
		opened = &faultyDirectory{directory: d, synced: map[string]bool{}}
		return opened, err
	})
	require.NoError(t, err)
	defer s.Close()
	for range 2 {
		must.Get(s.Write("a/b.pb.gz", []byte("profile"), nil))(t)
		assert.Equal(t, map[string]bool{".": true, "a": true}, opened.synced)
		// Another process replaces the directory, and creates the one of the file.
		require.NoError(t, os.RemoveAll(options.Directory))
		must.Get(s.Write("c.pb.gz", []byte("profile"), nil))(t)
		require.NoError(t, os.Mkdir(filepath.Join(options.Directory, "a"), 0o750))
		opened.set(nil)
	}
}

// On a file system without hard links, such as FAT, no file is replaced either.
func TestWithoutLinks(t *testing.T) {
	options := newOptions(t, t.TempDir())
	s, faulty := newFaultyStore(t, options)
	faulty.set(func(_ int, operation string) error {
		if operation == "link" {
			return syscall.EPERM
		}
		return nil
	})
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			_, err := s.Write("a/b/same.pb.gz", fmt.Appendf(nil, "profile %d", i/2), nil)
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	contents := map[string]bool{}
	for _, content := range tree(t, options.Directory) {
		contents[content] = true
	}
	assert.Len(t, contents, 8)
	assert.Len(t, tree(t, options.Directory), 8)
}

// The Collector starts with a full disk, but not without the permission to write.
func TestOpenOnABadDisk(t *testing.T) {
	for cause, starts := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EACCES: false, syscall.EROFS: false} {
		closed := false
		s, err := open(newOptions(t, t.TempDir()), func(name string) (directory, error) {
			d, err := openRoot(name)
			return &faultyDirectory{directory: d, fails: func(int, string) error { return cause }, closed: &closed}, err
		})
		if starts {
			require.NoError(t, err)
			require.NoError(t, s.Close())
			continue
		}
		require.ErrorIs(t, err, cause)
		assert.True(t, closed)
		assert.ErrorContains(t, err, "cannot write to")
		assert.Equal(t, ClassDenied, ClassOf(err))
	}
}

func TestFoldsCase(t *testing.T) {
	assert.False(t, newStore(t, newOptions(t, t.TempDir())).FoldsCase(), "the file systems that the tests run on")
	s, err := open(newOptions(t, t.TempDir()), func(name string) (directory, error) {
		d, err := openRoot(name)
		return foldingDirectory{d}, err
	})
	require.NoError(t, err)
	defer s.Close()
	assert.True(t, s.FoldsCase())
}

// foldingDirectory treats A and a as the same name.
type foldingDirectory struct{ directory }

func (d foldingDirectory) Lstat(name string) (fs.FileInfo, error) {
	return d.directory.Lstat(strings.ToLower(name))
}
