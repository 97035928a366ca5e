// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crashDirectory makes the test binary a process that writes until it is killed.
const crashDirectory = "FILESTORE_TEST_CRASH_DIRECTORY"

// content is so large that the file system writes it in several parts, and shows whether it is complete.
func content(seed int) []byte {
	data := bytes.Repeat(fmt.Appendf(nil, "%d:%x ", seed, seed*seed), 20_000)
	return append(data, "end"...)
}

func writeUntilKilled() {
	s, err := Open(Options{
		Directory: os.Getenv(crashDirectory), FileMode: 0o640, DirectoryMode: 0o750, Level: 1, Depth: 3,
		OnError: func(error) {},
	})
	if err != nil {
		panic(err)
	}
	var wait sync.WaitGroup
	for writer := range 4 {
		wait.Go(func() {
			for i := 0; ; i++ {
				if _, err := s.Write(fmt.Sprintf("s%d/t/%d-%d.pb.gz", i%5, writer, i), content(i), nil); err != nil {
					panic(err)
				}
			}
		})
	}
	wait.Wait()
}

// A killed process leaves complete files, and temporary files that the next start removes. Other files stay.
func TestCrash(t *testing.T) {
	directory := t.TempDir()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), crashDirectory+"="+directory)
	require.NoError(t, command.Start())
	assert.Eventually(t, func() bool {
		found, _ := filepath.Glob(below(directory, "*/*/*.pb.gz"))
		return len(found) > 20
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, command.Process.Kill())
	require.Error(t, command.Wait())

	leave(t, directory, "s0/.tmp-0123abcd-1", "half a file")
	leave(t, directory, ".tmp-0123abcd-z9", "half a file")
	leave(t, directory, ".tmp-notes", "not ours")
	leave(t, directory, "s0/t/.hidden", "not ours")
	s := newStore(t, newOptions(t, directory))
	require.Eventually(t, func() bool {
		left := 0
		err := fs.WalkDir(os.DirFS(directory), ".", func(name string, _ fs.DirEntry, err error) error {
			if s.isStale(filepath.Base(name)) {
				left++
			}
			return err
		})
		return err == nil && left == 0
	}, time.Minute, 5*time.Millisecond)
	files := tree(t, directory)
	assert.Contains(t, files, ".tmp-notes")
	assert.Contains(t, files, "s0/t/.hidden")
	for name, inflated := range files {
		if strings.HasSuffix(name, ".pb.gz") {
			assert.True(t, strings.HasSuffix(inflated, "end"), name)
		}
	}
}

func leave(t *testing.T, directory, name, content string) {
	t.Helper()
	path := below(directory, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// TestFilesOfTheFuture: the clock was ahead when the files were written, or was set back later. These files count as the youngest.
// They are removed when they are older than max_age. They do not prevent the removal of other files.
func TestFilesOfTheFuture(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.MaxAge, options.OnRemove = time.Hour, removed.add
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/cpu/future.pb.gz", -2*time.Hour)
			write(t, s, "a/cpu/old.pb.gz", 2*time.Hour)
			write(t, s, "a/cpu/young.pb.gz", 0)
		})
		newStore(t, options)
		synctest.Wait()
		assert.Equal(t, []string{"a/cpu/future.pb.gz", "a/cpu/young.pb.gz"}, names(t, options))
		pass(time.Hour + time.Minute)
		assert.Equal(t, []string{"a/cpu/future.pb.gz"}, names(t, options))
		pass(2 * time.Hour)
		assert.Empty(t, names(t, options), "no file is kept for ever")
		assert.Equal(t, map[Reason]int{ReasonAge: 3}, removed.files)
	})
}

// TestSizeWithFilesOfTheFuture: the limit of the size holds for any times. The file with the latest time is removed last.
func TestSizeWithFilesOfTheFuture(t *testing.T) {
	options := newOptions(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/cpu/future.pb.gz", -24*time.Hour)
			options.MaxTotalSize = write(t, s, "a/cpu/now.pb.gz", 0)
		})
		newStore(t, options)
		synctest.Wait()
		pass(time.Minute)
		assert.Equal(t, []string{"a/cpu/future.pb.gz"}, names(t, options))
	})
}
