// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// age sets the time of a file to the given duration ago.
func age(t *testing.T, options Options, name string, ago time.Duration) {
	t.Helper()
	written := time.Now().Add(-ago)
	require.NoError(t, os.Chtimes(below(options.Directory, name), written, written))
}

// write writes a file and sets its age.
func write(t *testing.T, s *Store, name string, ago time.Duration) int64 {
	t.Helper()
	result := must.Get(s.Write(name, []byte(name), nil))(t)
	age(t, s.options, name, ago)
	return result.Size
}

// before writes files with an earlier store, which has no limits.
func before(t *testing.T, options Options, write func(s *Store)) {
	t.Helper()
	options.MaxAge, options.MaxTotalSize = 0, 0
	s := must.Get(Open(options))(t)
	write(s)
	require.NoError(t, s.Close())
}

// pass lets time go by, and waits for what the store does in it.
func pass(duration time.Duration) {
	time.Sleep(duration)
	synctest.Wait()
}

func names(t *testing.T, options Options) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(tree(t, options.Directory)))
}

// removals counts the files that the store reports as removed.
type removals struct {
	mu    sync.Mutex
	files map[Reason]int
	bytes int64
}

func (r *removals) add(reason Reason, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[Reason]int{}
	}
	r.files[reason]++
	r.bytes += size
}

func TestMaxAge(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.MaxAge, options.OnRemove = time.Hour, removed.add
	leave(t, options.Directory, "a/cpu/foreign.txt", "")
	synctest.Test(t, func(t *testing.T) {
		var size int64
		before(t, options, func(s *Store) {
			age(t, options, "a/cpu/foreign.txt", 9*time.Hour)
			write(t, s, "baseline.pb.gz", 9*time.Hour)
			size = write(t, s, "a/cpu/1.pb.gz", 50*time.Minute) + write(t, s, "b/cpu/2.pb.gz", 30*time.Minute)
		})
		s := newStore(t, options)
		write(t, s, "b/heap/3.pb.gz", 0)
		pass(9 * time.Minute)
		assert.Len(t, names(t, options), 5, "nothing is due")
		pass(2 * time.Minute)
		assert.NotContains(t, names(t, options), "a/cpu/1.pb.gz")
		assert.Contains(t, names(t, options), "a/cpu/foreign.txt", "nor its directory")
		pass(20 * time.Minute)
		assert.Equal(t, []string{"a/cpu/foreign.txt", "b/heap/3.pb.gz", "baseline.pb.gz"}, names(t, options), "and no empty directory")
		assert.Equal(t, map[Reason]int{ReasonAge: 2}, removed.files)
		assert.Equal(t, size, removed.bytes)
		files, _, _ := s.Held()
		assert.EqualValues(t, 1, files)
		pass(time.Hour)
		assert.Equal(t, []string{"a/cpu/foreign.txt", "baseline.pb.gz"}, names(t, options), "the last one too")
	})
}

func TestMaxTotalSize(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.OnRemove = removed.add
	leave(t, options.Directory, "c/d/foreign.txt", "")
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			for i := 1; i < 6; i++ {
				write(t, s, fmt.Sprintf("a/b/%d.pb.gz", i), time.Hour-time.Duration(i)*time.Minute)
			}
			pass(time.Hour)
			assert.Len(t, names(t, options), 6, "without bounds all is kept")
			_, _, known := s.Held()
			assert.False(t, known)
		})
		options.MaxTotalSize = 5 * blockSize // three files and two directories
		s := newStore(t, options)
		pass(2 * checkInterval)
		assert.Equal(t, []string{"a/b/3.pb.gz", "a/b/4.pb.gz", "a/b/5.pb.gz", "c/d/foreign.txt"}, names(t, options), "what was there before counts")
		write(t, s, "c/d/6.pb.gz", 0)
		write(t, s, "c/d/7.pb.gz", 0)
		write(t, s, "c/d/8.pb.gz", 0)
		pass(2 * checkInterval)
		assert.Equal(t, []string{"c/d/6.pb.gz", "c/d/7.pb.gz", "c/d/8.pb.gz", "c/d/foreign.txt"}, names(t, options))
		assert.Equal(t, map[Reason]int{ReasonSize: 5}, removed.files)
		files, bytes, known := s.Held()
		assert.True(t, known)
		assert.EqualValues(t, 3, files)
		assert.EqualValues(t, 3*blockSize, bytes, "the next walk counts the directories that others created")
		pass(recountInterval + checkInterval)
		_, bytes, _ = s.Held()
		assert.EqualValues(t, 5*blockSize, bytes)
	})
}

// Small files count as whole blocks, and their directories count too: each sender that invents a service costs three blocks.
func TestMaxTotalSizeOfSmallFiles(t *testing.T) {
	options := newOptions(t, t.TempDir())
	options.MaxTotalSize = 30 * blockSize
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			for i := range 20 {
				write(t, s, fmt.Sprintf("before-%d/cpu/1.pb.gz", i), time.Hour)
			}
		})
		s := newStore(t, options)
		for i := range 100 {
			write(t, s, fmt.Sprintf("service-%d/cpu/1.pb.gz", i), time.Duration(100-i)*time.Second)
		}
		for range 2 { // with the counts of the writes, and with those of a walk
			pass(recountInterval + 2*checkInterval)
			assert.Len(t, names(t, options), 10, "and no empty directories")
			assert.Contains(t, names(t, options), "service-99/cpu/1.pb.gz")
			_, bytes, _ := s.Held()
			assert.EqualValues(t, 30*blockSize, bytes)
		}
	})
}

func TestMaxFiles(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.MaxFiles, options.OnRemove = 3, removed.add
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, options)
		for i := range 5 {
			write(t, s, fmt.Sprintf("a/b/%d.pb.gz", i), time.Hour-time.Duration(i)*time.Minute)
		}
		pass(2 * checkInterval)
		assert.Equal(t, []string{"a/b/2.pb.gz", "a/b/3.pb.gz", "a/b/4.pb.gz"}, names(t, options))
		assert.Equal(t, map[Reason]int{ReasonFiles: 2}, removed.files)
	})
}

// If one file alone exceeds the limit, the file that was written last remains.
func TestMaxTotalSizeKeepsTheLast(t *testing.T) {
	options := newOptions(t, t.TempDir())
	options.MaxTotalSize = 1
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, options)
		for i := range 3 {
			write(t, s, fmt.Sprintf("a/b/%d.pb.gz", i), time.Hour-time.Duration(i)*time.Minute)
			pass(2 * checkInterval)
			assert.Equal(t, []string{fmt.Sprintf("a/b/%d.pb.gz", i)}, names(t, options))
		}
	})
}

// The store notices files that others removed or changed. It does not remove a file that has changed since the walk.
func TestOthersInTheDirectory(t *testing.T) {
	options := newOptions(t, t.TempDir())
	options.MaxAge = 3 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/b/1.pb.gz", 150*time.Minute)
			write(t, s, "a/b/2.pb.gz", 150*time.Minute)
			write(t, s, "a/b/3.pb.gz", 150*time.Minute)
		})
		s := newStore(t, options)
		pass(30*time.Minute - checkInterval)
		require.NoError(t, os.Remove(below(options.Directory, "a/b/1.pb.gz")))
		age(t, options, "a/b/2.pb.gz", 0) // touched
		pass(time.Minute)
		assert.Equal(t, []string{"a/b/2.pb.gz"}, names(t, options))
		pass(recountInterval + checkInterval)
		assertOneFile(t, s)
	})
}

// assertOneFile asserts that the store knows that it has one file.
func assertOneFile(t *testing.T, s *Store) {
	t.Helper()
	files, _, known := s.Held()
	assert.True(t, known)
	assert.EqualValues(t, 1, files)
}

// Files that cannot be removed cause one attempt each and one warning per minute.
func TestRemovalFails(t *testing.T) {
	options := newOptions(t, t.TempDir())
	failures := 0
	options.MaxAge, options.OnError = time.Hour, func(error) { failures++ }
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/b/1.pb.gz", 59*time.Minute)
			write(t, s, "a/b/2.pb.gz", 58*time.Minute)
		})
		_, faulty := newFaultyStore(t, options)
		faulty.set(func(_ int, operation string) error {
			if operation == "remove" {
				return syscall.EBUSY
			}
			return nil
		})
		pass(12 * time.Minute)
		assert.Len(t, names(t, options), 2)
		assert.InDelta(t, 11, failures, 1)
		faulty.set(nil)
		pass(2 * time.Minute)
		assert.Empty(t, names(t, options))
	})
}

// Files that cannot be removed do not delay the removal of others.
func TestSomeRemovalsFail(t *testing.T) {
	const files, fixed = 9, 4
	options := newOptions(t, t.TempDir())
	failures := 0
	options.MaxAge, options.OnError = time.Hour, func(error) { failures++ }
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			for i := range files {
				write(t, s, fmt.Sprintf("a/b/%d.pb.gz", i), 59*time.Minute-time.Duration(i)*time.Second)
			}
		})
		_, faulty := newFaultyStore(t, options)
		removals := 0
		faulty.set(func(_ int, operation string) error {
			if operation != "remove" {
				return nil
			}
			if removals++; removals <= fixed {
				return syscall.EPERM
			}
			return nil
		})
		pass(80 * time.Second)
		assert.Len(t, names(t, options), fixed)
		assert.Equal(t, 1, failures)
	})
}

// The directory is replaced: the store counts the files again.
func TestUsageAfterTheDirectoryWasRemoved(t *testing.T) {
	options := newOptions(t, filepath.Join(t.TempDir(), "profiles"))
	options.MaxAge = time.Hour
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, options)
		write(t, s, "a/b/1.pb.gz", 0)
		write(t, s, "a/b/2.pb.gz", 0)
		require.NoError(t, os.RemoveAll(options.Directory))
		write(t, s, "a/b/3.pb.gz", 0)
		pass(2 * checkInterval)
		assertOneFile(t, s)
	})
}

// The directory is moved: new files are not in it, and no limit removes the moved ones.
func TestDirectoryIsMoved(t *testing.T) {
	for _, limited := range []bool{false, true} {
		options := newOptions(t, filepath.Join(t.TempDir(), "profiles"))
		if limited {
			options.MaxAge = time.Hour
		}
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, options)
			write(t, s, "a/b/1.pb.gz", 0)
			moved := options
			moved.Directory += "-moved"
			require.NoError(t, os.Rename(options.Directory, moved.Directory))
			pass(2 * checkInterval)
			write(t, s, "a/b/2.pb.gz", 0)
			pass(2 * time.Hour)
			assert.Equal(t, []string{"a/b/1.pb.gz"}, names(t, moved))
			if !limited {
				assert.Equal(t, []string{"a/b/2.pb.gz"}, names(t, options))
			}
		})
	}
}

// Each file is counted once, whether the walk or the write comes first.
func TestCountDuringWalk(t *testing.T) {
	options := newOptions(t, t.TempDir())
	before(t, options, func(s *Store) {
		write(t, s, "a/b/old.pb.gz", 0)
		write(t, s, "z/b/old.pb.gz", 0)
	})
	opened := make(chan *Store, 1)
	once := sync.OnceFunc(func() {
		// The walk has read the names of one directory, and not yet those of the other.
		s := <-opened
		for _, name := range []string{"a/b/new.pb.gz", "z/b/new.pb.gz"} {
			_, err := s.Write(name, []byte("profile"), nil)
			assert.NoError(t, err)
		}
	})
	owns := options.Owns
	options.MaxAge = time.Hour
	options.Owns = func(path string) bool { once(); return owns(path) }
	s := newStore(t, options)
	opened <- s
	require.Eventually(t, func() bool { _, _, known := s.Held(); return known }, time.Minute, time.Millisecond)
	files, bytes, _ := s.Held()
	assert.EqualValues(t, 4, files)
	(&retention{store: s}).walk(t.Context(), false)
	files, again, _ := s.Held()
	assert.EqualValues(t, 4, files)
	assert.Equal(t, bytes, again)
}

// However many files there are, a walk remembers the oldest files and the minimum time of the others.
func TestRememberTheOldest(t *testing.T) {
	now := time.Now()
	all := make([]File, 4*maxOldest+17)
	for i := range all {
		all[i] = File{Name: strconv.Itoa(i), Time: now.Add(time.Duration(rand.IntN(1_000_000)) * time.Millisecond)}
	}
	retention := &retention{minTime: now.Add(time.Hour)}
	for _, e := range all {
		retention.remember(e)
		require.LessOrEqual(t, len(retention.oldest), 2*maxOldest)
	}
	retention.trim()
	slices.SortFunc(all, func(a, b File) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	assert.Equal(t, all[:maxOldest], retention.oldest)
	assert.Equal(t, all[maxOldest].Time, retention.minTime)
}

// Writers that create directories do not slow down the removal: otherwise the files would grow above each limit.
func TestRemovalDoesNotWaitForEachWriter(t *testing.T) {
	const files = 2 * removalBatch
	options := newOptions(t, t.TempDir())
	before(t, options, func(s *Store) {
		for i := range files {
			write(t, s, fmt.Sprintf("service-%d/cpu/1.pb.gz", i), time.Hour)
		}
	})
	root := must.Get(openRoot(options.Directory))(t)
	defer root.Close()
	removed := 0
	options.MaxAge, options.OnRemove = time.Minute, func(Reason, int64) { removed++ }
	s := &Store{options: options, current: root}
	r := &retention{store: s}
	r.walk(t.Context(), false)

	var turns atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s.parents.mu.Lock()
				turns.Add(1)
				time.Sleep(2 * time.Millisecond) // as long as a disk takes
				s.parents.mu.Unlock()
			}
		})
	}
	r.enforce(t.Context())
	during := turns.Load()
	close(stop)
	writers.Wait()
	assert.Equal(t, files, removed)
	assert.Empty(t, names(t, options))
	assert.Less(t, during, int64(files), "fewer turns of writers than removals")
}

// A failed write removes the directories that it created, while the walk reads them.
func TestDirectoriesRemovedDuringWalk(t *testing.T) {
	options := newOptions(t, t.TempDir())
	require.NoError(t, os.MkdirAll(below(options.Directory, "a/b"), 0o700))
	for i := range 3 * walkBatch {
		require.NoError(t, os.WriteFile(below(options.Directory, fmt.Sprintf("a/b/%d.pb.gz", i)), nil, 0o600))
	}
	root := must.Get(os.OpenRoot(options.Directory))(t)
	defer root.Close()
	visited := 0
	w := walker{
		wanted: func(string) bool { return true },
		visit: func(File) {
			visited++
			require.NoError(t, os.RemoveAll(below(options.Directory, "a")))
		},
		onError: options.OnError,
	}
	require.NoError(t, w.walk(t.Context(), root, "", 3))
	assert.Equal(t, 1, visited)
}
