// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

func uploadsIn(directory string) *Uploads {
	return &Uploads{
		Directory: directory, MaxBytes: 1 << 20, MaxFileBytes: 1 << 16, Stored: func(string) {},
		Memory: memoryOf(nil),
	}
}

// receive uploads a file of an announced size.
func receive(t *testing.T, u *Uploads, id string, size int64, file []byte) error {
	t.Helper()
	_, err := u.Receive(t.Context(), id, size, false, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(file))
		return err
	})
	return err
}

// filesIn returns the paths of all files in a directory.
func filesIn(t *testing.T, directory string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(directory, name)
			files = append(files, relative)
		}
		return err
	}))
	return files
}

// A binary that was missing has names as soon as it was uploaded, also one that is named by its hash.
func TestUploads(t *testing.T) {
	u := uploadsIn(filepath.Join(t.TempDir(), "uploads"))
	s := newStore(t, settings(t.TempDir(), u))
	u.Stored = s.Renew
	file := elftest.WithSymbols(idA, "uploaded")
	hash := must.Get(htlHash(bytes.NewReader(file), int64(len(file))))(t)
	for _, b := range []Binary{{Kind: GNU, ID: idA}, {Kind: HTLHash, ID: hash}} {
		_, result := get(t, s, b)
		require.Equal(t, Missing, result)
		require.NoError(t, receive(t, u, b.ID, int64(len(file)), file))
		name, result := get(t, s, b)
		assert.Equal(t, Found, result)
		assert.Equal(t, "uploaded", name)
	}
	assert.ElementsMatch(t, []string{
		filepath.Join(".build-id", "aa", idA[2:]+".debug"), filepath.Join(".build-id", hash[:2], hash[2:]+".debug"),
	}, filesIn(t, u.Directory))
	_, result := get(t, s, Binary{Kind: Go, ID: idA})
	assert.Equal(t, Missing, result)
}

// A file replaces the index that was made without it.
func TestUploadReplaces(t *testing.T) {
	u := uploadsIn(t.TempDir())
	s := newStore(t, settings(t.TempDir(), u))
	u.Stored = s.Renew
	require.NoError(t, receive(t, u, idA, -1, elftest.WithSymbols(idA, "first")))
	name, _ := get(t, s, Binary{Kind: GNU, ID: idA})
	require.Equal(t, "first", name)
	second := elftest.WithSymbols(idA, "second")
	require.ErrorIs(t, receive(t, u, idA, -1, second), ErrStored)
	_, err := u.Receive(t.Context(), idA, -1, true, func(w io.Writer) error {
		_, err := w.Write(second)
		return err
	})
	require.NoError(t, err)
	name, _ = get(t, s, Binary{Kind: GNU, ID: idA})
	assert.Equal(t, "second", name)
}

// late is a source that tells the number of the question before its answer.
type late struct {
	Directories
	before func(question int64)
	asked  atomic.Int64
}

func (l *late) find(ctx context.Context, b Binary, use func(*os.File, ...elffile.Section) bool) error {
	l.before(l.asked.Add(1))
	return l.Directories.find(ctx, b, use)
}

// An index that was made while a file was uploaded is not kept: it can be a worse one.
func TestUploadWhileSearching(t *testing.T) {
	directories, a := directoryOfA(t)
	source := &late{Directories: directories}
	s := newStore(t, settings(t.TempDir(), source))
	source.before = func(question int64) {
		if question == 1 {
			s.Renew(idA)
		}
	}
	get(t, s, a)
	name, _ := get(t, s, a)
	assert.Equal(t, "a", name)
	assert.EqualValues(t, 2, source.asked.Load())
	assert.FileExists(t, s.cache.path(a))
}

// What is refused leaves nothing behind.
func TestUploadsRefuse(t *testing.T) {
	file := elftest.WithSymbols(idA, "a")
	size := int64(len(file))
	for name, test := range map[string]struct {
		id   string
		size int64
		file []byte
		err  error
		text string
	}{
		"less than announced":  {idA, size + 1, file, ErrSize, "bytes arrived"},
		"more than announced":  {idA, size - 1, file, ErrSize, "were announced arrive"},
		"nothing":              {idA, -1, nil, ErrSize, "0 bytes arrived, 1 were"},
		"nothing announced":    {idA, 0, file, ErrSize, "has 0 bytes, 1 to 65536 are allowed (max_file_size)"},
		"too much announced":   {idA, 1 << 17, file, ErrSize, "has 131072 bytes, 1 to 65536 are allowed (max_file_size)"},
		"too large":            {idA, -1, make([]byte, 1<<17), ErrSize, "more than 65536 bytes arrive (max_file_size)"},
		"another build id":     {idB, size, file, ErrBuildID, "has another build id than build_id, " + idB},
		"no ELF file":          {idA, -1, bytes.Repeat([]byte("text"), 100), ErrFile, "malformed ELF file"},
		"no build id":          {"", size, file, ErrBuildID, `build_id "" has to be 8 to 128 hexadecimal digits`},
		"a path as a build id": {"../../../../etc/passwd", size, file, ErrBuildID, "hexadecimal"},
		"one with an encoding": {"aa%2f..%2f..%2fbbbb", size, file, ErrBuildID, "hexadecimal"},
	} {
		t.Run(name, func(t *testing.T) {
			u := uploadsIn(filepath.Join(t.TempDir(), "deep", "uploads"))
			err := receive(t, u, test.id, test.size, test.file)
			require.ErrorIs(t, err, test.err)
			assert.ErrorContains(t, err, test.text)
			if _, err := os.Stat(u.Directory); err == nil {
				assert.Empty(t, filesIn(t, u.Directory))
			}
			assert.Empty(t, u.receiving)
			assert.Zero(t, u.bytes)
			require.NoError(t, receive(t, u, idA, size, file), "the next one")
		})
	}
}

// Files and bytes that are being received are limited, one build id is received once, and Close waits for all.
func TestUploadsAtOnce(t *testing.T) {
	u := uploadsIn(t.TempDir())
	u.MaxBytes = 3 << 16
	begun, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
	begin := func(id string, size int64) {
		_, err := u.Receive(context.Background(), id, size, false, func(io.Writer) error {
			begun <- struct{}{}
			<-finish
			return errors.New("ended")
		})
		done <- err
	}
	go begin(idA, 1)
	<-begun
	require.ErrorIs(t, receive(t, u, idA, 1, nil), ErrInProgress)
	for _, id := range []string{"0000000a", "0000000b"} {
		go begin(id, -1) // may have all of max_file_size
		<-begun
	}
	_, err := u.Check("0000000c", 1<<16, false)
	require.ErrorIs(t, err, ErrInProgress)
	require.ErrorContains(t, err, "3 files of 131073 bytes are being received, 16 of 196608 are allowed")
	closed := make(chan struct{})
	go func() {
		u.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool { _, err := u.Check("0000000c", 1, false); return err != nil }, time.Minute, time.Millisecond)
	select {
	case <-closed:
		t.Fatal("Close does not wait")
	case <-time.After(10 * time.Millisecond):
	}
	close(finish)
	for range 3 {
		require.ErrorContains(t, <-done, "ended")
	}
	<-closed
	require.ErrorIs(t, receive(t, u, idB, 1, nil), ErrInProgress)
	assert.Empty(t, filesIn(t, u.Directory))
}

func TestManyUploads(t *testing.T) {
	u := uploadsIn(t.TempDir())
	for i := range maxUploads {
		u.receiving = map[string]int64{}
		for j := range i + 1 {
			u.receiving[string(rune('a'+j))] = 1
		}
		_, err := u.Check(idA, 1, false)
		assert.Equal(t, i+1 == maxUploads, errors.Is(err, ErrInProgress))
	}
}

// Files that were used the longest ago are removed, also what processes that have ended left.
func TestUploadsEvict(t *testing.T) {
	u := uploadsIn(t.TempDir())
	a, b, c := elftest.WithSymbols(idA, "a"), elftest.WithSymbols(idB, "b"), elftest.WithSymbols("cc"+idA[2:], "c")
	u.MaxFileBytes = int64(len(a))
	u.MaxBytes = 2*u.MaxFileBytes + 1
	s := newStore(t, settings(t.TempDir(), u))
	left := filepath.Join(u.Directory, "new-1")
	write(t, left, a)
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(left, long, long))
	require.NoError(t, receive(t, u, idA, -1, a))
	require.NoError(t, receive(t, u, idB, -1, b))
	for _, id := range []string{idA, idB} {
		require.NoError(t, os.Chtimes(u.path(id), long, long.Add(time.Duration(id[0]))))
	}
	_, result := get(t, s, Binary{Kind: GNU, ID: idA}) // It is used, b is not.
	require.Equal(t, Found, result)
	require.NoError(t, receive(t, u, "cc"+idA[2:], -1, c))
	assert.True(t, u.Has(idA))
	assert.False(t, u.Has(idB))
	assert.True(t, u.Has("cc"+idA[2:]))
	assert.NoFileExists(t, left)
}

// An upload that finds no memory is refused for now.
func TestUploadsWithoutMemory(t *testing.T) {
	u := uploadsIn(t.TempDir())
	most := int64(0)
	u.Memory = memoryOf(func(total int64) error {
		if total > most {
			return ErrBusy
		}
		return nil
	})
	file := elftest.WithSymbols(idA, "a")
	require.ErrorIs(t, receive(t, u, idA, -1, file), ErrBusy)
	most = copyBytes
	require.ErrorIs(t, receive(t, u, idA, -1, file), ErrBusy, "for the headers of the file")
	most += 1 << 16
	require.NoError(t, receive(t, u, idA, -1, file))
}
