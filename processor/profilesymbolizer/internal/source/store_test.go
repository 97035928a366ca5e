// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

const (
	idA = "aa0102030405060708090a0b0c0d0e0f10111213"
	idB = "bb0102030405060708090a0b0c0d0e0f10111213"
)

// report counts what sources report.
type report struct {
	mu      sync.Mutex
	results map[string]int
	errs    []error
}

func (r *report) fetched(source string, result Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[fmt.Sprint(source, " ", result)]++
	r.errs = append(r.errs, err)
}

// reportOf makes a store report its sources.
func reportOf(set *Settings) *report {
	r := &report{results: map[string]int{}}
	set.Fetched = r.fetched
	return r
}

func (r *report) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.results)
}

// settings returns those of a store in a directory.
func settings(directory string, sources ...Source) Settings {
	return Settings{
		Sources: sources, Directory: directory, MaxBytes: 1 << 20, MaxFileBytes: 1 << 20, IndexTimeout: time.Minute, FetchTimeout: time.Minute,
		Fetches: 2, MissingFor: time.Hour, FailedFor: time.Hour,
		Fetched: func(string, Result, error) {}, Indexed: func(time.Duration, debuginfo.Stats) {}, Cached: func(int64) {},
		Memory: memoryOf(nil),
	}
}

// memoryOf returns a memory that reserve limits.
func memoryOf(reserve func(total int64) error) func(context.Context) (*meter.Meter, func()) {
	return func(context.Context) (*meter.Meter, func()) { return meter.New(0, reserve), func() {} }
}

// directoryOfA returns a directory with the binary A.
func directoryOfA(t *testing.T) (Directories, Binary) {
	t.Helper()
	directory := t.TempDir()
	write(t, filepath.Join(directory, "a"), elftest.WithSymbols(idA, "a"))
	return Directories{directory}, Binary{Kind: GNU, ID: idA, Path: "/a"}
}

// get waits for the result of a binary, and returns the name of its function.
func get(t *testing.T, s *Store, b Binary) (string, Result) {
	t.Helper()
	b, ok := b.Normalize()
	require.True(t, ok)
	handle, result, done := s.Acquire(b)
	if result == Pending {
		require.Nil(t, handle)
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("it stays pending")
		}
		handle, result, _ = s.Acquire(b)
	}
	if handle == nil {
		return "", result
	}
	defer handle.Release()
	return nameIn(t, handle), result
}

func nameIn(t *testing.T, handle *Handle) (name string) {
	t.Helper()
	require.NoError(t, handle.Use(func(table *index.Table) {
		frames := table.Lookup(nil, elftest.CodeAddress)
		require.Len(t, frames, 1)
		name = string(table.Names(frames[0]).Name)
	}))
	return name
}

func newStore(t *testing.T, set Settings) *Store {
	t.Helper()
	s := NewStore(t.Context(), set)
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestDirectories(t *testing.T) {
	directory := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, elftest.WithSymbols(idB, "outside"))
	write(t, filepath.Join(directory, ".build-id", "aa", idA[2:]+".debug"), elftest.WithSymbols(idA, "by_id"))
	write(t, filepath.Join(directory, "usr", "bin", "program"), elftest.WithSymbols(idB, "by_path"))
	write(t, filepath.Join(directory, "base"), elftest.WithSymbols(idB, "by_name"))
	write(t, filepath.Join(directory, "other"), elftest.WithSymbols(idA, "other"))
	write(t, filepath.Join(directory, "text"), []byte("no ELF file"))
	require.NoError(t, os.Symlink(outside, filepath.Join(directory, "link")))
	require.NoError(t, os.Symlink("base", filepath.Join(directory, "inner")))
	set := settings(t.TempDir(), Directories{filepath.Join(directory, "missing"), directory})
	for _, test := range []struct {
		binary Binary
		name   string
		result Result
	}{
		{Binary{Kind: GNU, ID: idA}, "by_id", Found},
		{Binary{Kind: GNU, ID: idB, Path: "/usr/bin/program"}, "by_path", Found},
		{Binary{Kind: GNU, ID: idB, Path: "../../usr/bin/./program"}, "by_path", Found},
		{Binary{Kind: GNU, ID: idB, Path: "/opt/base"}, "by_name", Found},
		{Binary{Kind: GNU, ID: idB, Path: "/inner"}, "by_name", Found},
		{Binary{Kind: GNU, ID: idB, Path: "/other"}, "", Missing},
		{Binary{Kind: GNU, ID: idB, Path: "/link"}, "", Missing},
		{Binary{Kind: GNU, ID: idB, Path: outside}, "", Missing},
		{Binary{Kind: GNU, ID: idB, Path: "/../.." + outside}, "", Missing},
		{Binary{Kind: GNU, ID: idB, Path: "/text"}, "", Failed},
		{Binary{Kind: GNU, ID: idB, Path: "/usr"}, "", Missing},
		{Binary{Kind: GNU, ID: idB, Path: "a\x00b"}, "", Missing},
	} {
		set.Directory = t.TempDir()
		name, result := get(t, newStore(t, set), test.binary)
		assert.Equal(t, test.name, name, test.binary)
		assert.Equal(t, test.result, result, test.binary)
	}
}

func TestHTLHash(t *testing.T) {
	directory := t.TempDir()
	data := elftest.WithSymbols(idA, "hashed")
	data = append(data, make([]byte, 10000)...)
	write(t, filepath.Join(directory, "program"), data)
	f := must.Get(os.Open(filepath.Join(directory, "program")))(t)
	defer f.Close()
	hash := must.Get(htlHash(f, int64(len(data))))(t)
	name, _ := get(t, newStore(t, settings(t.TempDir(), Directories{directory})), Binary{Kind: HTLHash, ID: hash, Path: "/program"})
	assert.Equal(t, "hashed", name)
	_, result := get(t, newStore(t, settings(t.TempDir(), Directories{directory})), Binary{Kind: HTLHash, ID: hash[2:] + "00", Path: "/program"})
	assert.Equal(t, Missing, result)
}

func TestInvalidIDs(t *testing.T) {
	for _, b := range []Binary{
		{Kind: GNU, ID: ""},
		{Kind: GNU, ID: "abc"},
		{Kind: GNU, ID: "../../../../etc"},
		{Kind: GNU, ID: "aabbccddee/../.."},
		{Kind: Go, ID: ""},
		{Kind: "other", ID: idA},
		{Kind: GNU, ID: string(make([]byte, 1000))},
	} {
		_, ok := b.Normalize()
		assert.False(t, ok, b)
	}
	b, ok := Binary{Kind: GNU, ID: "AABBCCDD"}.Normalize()
	assert.True(t, ok)
	assert.Equal(t, "aabbccdd", b.ID)

	b, ok = Binary{Kind: GNU, ID: idA, Path: "/" + strings.Repeat("x", maxPath)}.Normalize()
	assert.True(t, ok)
	assert.Empty(t, b.Path, "no file has such a path")
}

// TestPathsAreForgotten: a store keeps the identity of a binary that it does not find, but not its path.
func TestPathsAreForgotten(t *testing.T) {
	s := newStore(t, settings(t.TempDir(), Directories{t.TempDir()}))
	b := Binary{Kind: GNU, ID: idA, Path: "/usr/bin/program"}
	_, result := get(t, s, b)
	assert.Equal(t, Missing, result)
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Equal(t, b.identity(), s.entries[b.identity()].binary)
}

// An index in the cache serves another process. A damaged one is made anew. Old ones make room.
func TestCache(t *testing.T) {
	directories, a := directoryOfA(t)
	shared, b := t.TempDir(), Binary{Kind: GNU, ID: idB, Path: "/b"}
	write(t, filepath.Join(directories[0], "b"), elftest.WithSymbols(idB, "b"))
	name, _ := get(t, newStore(t, settings(shared, directories)), a)
	assert.Equal(t, "a", name)

	name, _ = get(t, newStore(t, settings(shared)), a)
	assert.Equal(t, "a", name, "without a source")
	_, result := get(t, newStore(t, settings(shared)), b)
	assert.Equal(t, Missing, result)

	cached := (&cache{directory: shared}).path(a)
	data := must.Get(os.ReadFile(cached))(t)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(cached, data, 0o600))
	set := settings(shared, directories)
	report := reportOf(&set)
	name, _ = get(t, newStore(t, set), a)
	assert.Equal(t, "a", name)
	assert.Equal(t, map[string]int{"cache failed": 1, "directories found": 1}, report.counts())

	require.NoError(t, os.Chtimes(cached, time.Unix(1, 0), time.Unix(1, 0)))
	set.MaxBytes = int64(len(data))
	name, _ = get(t, newStore(t, set), b)
	assert.Equal(t, "b", name)
	assert.NoFileExists(t, cached)
}

// A file that is cut off while it is mapped is an error of that binary, and does not end the process.
func TestCutOff(t *testing.T) {
	directories, a := directoryOfA(t)
	s := newStore(t, settings(t.TempDir(), directories))
	name, _ := get(t, s, a)
	require.Equal(t, "a", name)
	handle, _, _ := s.Acquire(a)
	require.NotNil(t, handle)
	defer handle.Release()
	require.NoError(t, os.Truncate(s.cache.path(a), 0))
	err := handle.Use(func(table *index.Table) { table.Lookup(nil, elftest.CodeAddress) })
	require.ErrorContains(t, err, "cannot read an index")
	name, _ = get(t, s, a)
	assert.Equal(t, "a", name, "it is made anew")
}

// debuginfod returns a server, and a source that asks it.
func debuginfod(t *testing.T, handler http.HandlerFunc) *Debuginfod {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Debuginfod{URL: server.URL, Client: &http.Client{Timeout: 10 * time.Second}, MaxBytes: 1 << 20, Directory: t.TempDir()}
}

func TestDebuginfod(t *testing.T) {
	var asked atomic.Int64
	server := debuginfod(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/buildid/" + idA + "/debuginfo":
			_, _ = w.Write(elftest.WithSymbols(idA, "debug"))
		case "/buildid/" + idB + "/executable":
			_, _ = w.Write(elftest.WithSymbols(idB, "executable"))
		default:
			http.NotFound(w, r)
		}
	})
	set := settings(t.TempDir(), server)
	report := reportOf(&set)
	s := newStore(t, set)
	name, _ := get(t, s, Binary{Kind: GNU, ID: idA})
	assert.Equal(t, "debug", name)
	name, _ = get(t, s, Binary{Kind: GNU, ID: idB})
	assert.Equal(t, "executable", name)
	before := asked.Load()
	missing := Binary{Kind: GNU, ID: "cc" + idA[2:]}
	for range 5 {
		_, result := get(t, s, missing)
		assert.Equal(t, Missing, result)
	}
	assert.Equal(t, before+2, asked.Load(), "a binary that is missing is not asked for again")
	_, result := get(t, s, Binary{Kind: Go, ID: "a/b/c/d"})
	assert.Equal(t, Missing, result)
	assert.Equal(t, before+2, asked.Load(), "debuginfod knows GNU's build ids only")
	assert.Equal(t, map[string]int{
		"cache missing": 4, "debuginfod found": 2, "debuginfod missing": 2,
	}, report.counts())
}

// One fetch serves all that wait for a binary.
func TestOneFetch(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	server := debuginfod(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-release
		_, _ = w.Write(elftest.WithSymbols(idA, "one"))
	})
	s := newStore(t, settings(t.TempDir(), server))
	var channels []<-chan struct{}
	for range 100 {
		handle, result, done := s.Acquire(Binary{Kind: GNU, ID: idA})
		require.Nil(t, handle)
		require.Equal(t, Pending, result)
		channels = append(channels, done)
	}
	close(release)
	for _, done := range channels {
		<-done
	}
	name, _ := get(t, s, Binary{Kind: GNU, ID: idA})
	assert.Equal(t, "one", name)
	assert.EqualValues(t, 2, asked.Load(), "debuginfo, which has no lines, and executable")
}

// A server that lies, fails, sends too much or too slowly has failed, and after five failures it is left alone.
func TestDebuginfodFails(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for range 1 << 20 {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		result  Result
	}{
		"wrong build id": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(elftest.WithSymbols(idB, "b")) }, Missing},
		"no ELF file":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, Failed},
		"nothing":        {func(http.ResponseWriter, *http.Request) {}, Failed},
		"500":            {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, Failed},
		"endless":        {endless, Failed},
		"long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10000000000")
			w.WriteHeader(http.StatusOK)
		}, Failed},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Failed},
		"ends early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(make([]byte, 10))
		}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := debuginfod(t, test.handler)
			server.Client.Timeout = time.Second
			set := settings(t.TempDir(), server)
			_, result := get(t, newStore(t, set), Binary{Kind: GNU, ID: idA})
			assert.Equal(t, test.result, result)
			left := must.Get(os.ReadDir(server.Directory))(t)
			assert.Empty(t, left, "no file is left")
		})
	}
}

func TestBreaker(t *testing.T) {
	var asked atomic.Int64
	server := debuginfod(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusBadGateway)
	})
	s := newStore(t, settings(t.TempDir(), server))
	for i := range 20 {
		_, result := get(t, s, Binary{Kind: GNU, ID: fmt.Sprintf("%02x", i) + idA[2:]})
		assert.Equal(t, Failed, result)
	}
	assert.EqualValues(t, failuresToOpen, asked.Load())
}

// A source that failed can have a better file: what another one has is used until it is asked again.
func TestBetterLater(t *testing.T) {
	directories, a := directoryOfA(t)
	server := debuginfod(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) })
	set := settings(t.TempDir(), directories, server)
	set.FailedFor = time.Millisecond
	s := newStore(t, set)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		handle, result, _ := s.Acquire(a)
		if assert.NotNil(t, handle) {
			handle.Release()
		}
		assert.Equal(t, Found, result)
	}, time.Minute, time.Millisecond)
	assert.NoFileExists(t, s.cache.path(a))
}

// A file that is unusable is not read again soon. One for which there was no memory is.
func TestUnusable(t *testing.T) {
	directories, a := directoryOfA(t)
	for _, test := range []struct {
		err   error
		again bool
	}{{ErrTooLarge, false}, {ErrBusy, true}} {
		set := settings(t.TempDir(), directories)
		set.FailedFor = time.Millisecond
		set.Memory = memoryOf(func(int64) error { return test.err })
		report := reportOf(&set)
		s := newStore(t, set)
		_, result := get(t, s, a)
		for range 5 {
			time.Sleep(2 * time.Millisecond)
			_, result, _ = s.Acquire(a)
		}
		require.Eventually(t, func() bool { return (report.counts()["directories failed"] > 1) == test.again }, time.Minute, time.Millisecond)
		if !test.again {
			assert.Equal(t, Failed, result)
		}
	}
}

// A limit of memory, and one of the size, end the work on a file.
func TestLimits(t *testing.T) {
	directories, a := directoryOfA(t)
	errFull := errors.New("full")
	for want, change := range map[error]func(*Settings){
		errFull:     func(set *Settings) { set.Memory = memoryOf(func(int64) error { return errFull }) },
		ErrTooLarge: func(set *Settings) { set.MaxFileBytes = 10 },
	} {
		set := settings(t.TempDir(), directories)
		change(&set)
		report := reportOf(&set)
		_, result := get(t, newStore(t, set), a)
		assert.Equal(t, Failed, result)
		assert.ErrorIs(t, errors.Join(report.errs...), want)
	}
}

// A file whose debug information needs too much memory has the names of its table of symbols. It is not looked for again.
func TestNamesWithoutDebugInfo(t *testing.T) {
	binaries := t.TempDir()
	sections := elftest.Make(elftest.Code(), elftest.Note(idA),
		elftest.Section{Name: ".symtab", Type: 2, Link: 4, Data: elftest.Symbol(1, elftest.CodeAddress, elftest.CodeSize)},
		elftest.Section{Name: ".strtab", Type: 3, Data: []byte("\x00name\x00")},
		elftest.Section{Name: ".debug_info", Type: 1, Data: make([]byte, 400<<10)},
		elftest.Section{Name: ".gopclntab", Type: 1, Data: make([]byte, 400<<10)},
	)
	write(t, filepath.Join(binaries, "a"), sections)
	set := settings(t.TempDir(), Directories{binaries})
	set.Memory = memoryOf(func(total int64) error {
		if total > 1<<18 {
			return ErrTooLarge
		}
		return nil
	})
	s := newStore(t, set)
	a := Binary{Kind: GNU, ID: idA, Path: "/a"}
	name, result := get(t, s, a)
	assert.Equal(t, Found, result)
	assert.Equal(t, "name", name)
	assert.FileExists(t, s.cache.path(a))
}
