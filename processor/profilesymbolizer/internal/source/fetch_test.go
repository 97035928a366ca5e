// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
)

// debugPath is where a directory has the debug information of A.
var debugPath = filepath.Join(".build-id", idA[:2], idA[2:]+".debug")

// busyOnce returns a memory whose first use fails.
func busyOnce(err error) func(context.Context) (*meter.Meter, func()) {
	var calls atomic.Int64
	return func(context.Context) (*meter.Meter, func()) {
		first := calls.Add(1) == 1
		return meter.New(0, func(int64) error {
			if first {
				return err
			}
			return nil
		}), func() {}
	}
}

// A file for which there is no memory now can be the better one of a source: the index of a worse one is not kept.
func TestBetterFileLater(t *testing.T) {
	directories, a := directoryOfA(t)
	write(t, filepath.Join(directories[0], debugPath), elftest.WithSymbols(idA, "better"))
	for failure, kept := range map[error]bool{ErrBusy: false, errors.New("malformed"): true} {
		set := settings(t.TempDir(), directories)
		set.Memory = busyOnce(failure)
		report := reportOf(&set)
		s := newStore(t, set)
		name, result := get(t, s, a)
		assert.Equal(t, Found, result)
		assert.Equal(t, "a", name)
		assert.Equal(t, map[string]int{"cache missing": 1, "directories found": 1}, report.counts())
		if kept {
			assert.FileExists(t, s.cache.path(a))
			continue
		}
		assert.NoFileExists(t, s.cache.path(a))
		require.ErrorIs(t, errors.Join(report.errs...), failure)
		name, _ = get(t, newStore(t, set), a)
		assert.Equal(t, "better", name)
	}
}

// Of several files, one that has another build id does not hide why that of the binary is unusable.
func TestFailureBesideOther(t *testing.T) {
	directories, a := directoryOfA(t)
	write(t, filepath.Join(directories[0], "a"), elftest.WithSymbols(idB, "another version"))
	write(t, filepath.Join(directories[0], debugPath), append(elftest.WithSymbols(idA, "large"), make([]byte, 2<<20)...))
	set := settings(t.TempDir(), directories)
	report := reportOf(&set)
	_, result := get(t, newStore(t, set), a)
	assert.Equal(t, Failed, result)
	assert.ErrorIs(t, errors.Join(report.errs...), ErrTooLarge)
}

// Each source that has a file is counted, also one whose file is not better than that of an earlier one.
func TestFoundTwice(t *testing.T) {
	directories, a := directoryOfA(t)
	u := uploadsIn(t.TempDir())
	require.NoError(t, receive(t, u, idA, -1, elftest.WithSymbols(idA, "uploaded")))
	set := settings(t.TempDir(), directories, u)
	report := reportOf(&set)
	name, _ := get(t, newStore(t, set), a)
	assert.Equal(t, "a", name)
	assert.Equal(t, map[string]int{"cache missing": 1, "directories found": 1, "uploads found": 1}, report.counts())
}

// What is found beside a file that is unusable for good is not looked for again soon.
func TestBesideUnusable(t *testing.T) {
	directories, a := directoryOfA(t)
	unusable := Directories{t.TempDir()}
	write(t, filepath.Join(unusable[0], debugPath), append(elftest.WithSymbols(idA, "large"), make([]byte, 2<<20)...))
	set := settings(t.TempDir(), unusable, directories)
	set.FailedFor = time.Nanosecond
	s := newStore(t, set)
	name, _ := get(t, s, a)
	assert.Equal(t, "a", name)
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Greater(t, time.Until(s.entries[a.identity()].until), set.MissingFor/2)
}

// An index serves while a better one is looked for, and if there is none.
func TestServesMeanwhile(t *testing.T) {
	for _, want := range []string{"better", "a"} {
		directories, a := directoryOfA(t)
		write(t, filepath.Join(directories[0], debugPath), elftest.WithSymbols(idA, "better"))
		answer := make(chan struct{})
		set := settings(t.TempDir(), &late{Directories: directories, before: func(question int64) {
			if question == 2 {
				<-answer
			}
		}})
		set.FailedFor = time.Nanosecond
		set.Memory = busyOnce(ErrBusy)
		s := newStore(t, set)
		release := sync.OnceFunc(func() { close(answer) })
		t.Cleanup(release)
		name, result := get(t, s, a) // It asks again at once.
		require.Equal(t, Found, result)
		require.Equal(t, "a", name)
		handle, _, done := s.Acquire(a)
		require.NotNil(t, handle)
		handle.Release()
		if want == "a" {
			require.NoError(t, os.RemoveAll(directories[0]))
		}
		release()
		<-done
		name, result = get(t, s, a)
		assert.Equal(t, Found, result)
		assert.Equal(t, want, name)
	}
}

// A new file of one binary does not keep the index of another one from being kept.
func TestUploadOfAnother(t *testing.T) {
	directories, a := directoryOfA(t)
	source := &late{Directories: directories}
	s := newStore(t, settings(t.TempDir(), source))
	source.before = func(int64) { s.Renew(idB) }
	name, _ := get(t, s, a)
	assert.Equal(t, "a", name)
	assert.FileExists(t, s.cache.path(a))
}
