// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// The limits of a hostile file in these tests.
const (
	hostileMemory = 32 << 20
	hostileTime   = 2 * time.Second
)

var errLimit = errors.New("a limit of the test")

// hostileBuild makes the index of a file within the limits.
func hostileBuild(tb testing.TB, data []byte, out *os.File) (Result, error) {
	tb.Helper()
	require.NoError(tb, out.Truncate(0))
	end := time.Now().Add(hostileTime)
	memory := meter.New(0, func(total int64) error {
		if total > hostileMemory || time.Now().After(end) {
			return errLimit
		}
		return nil
	})
	file, err := elffile.Open(bytes.NewReader(data), int64(len(data)), memory)
	if err != nil {
		return Result{}, err
	}
	if _, _, err := file.BuildIDs(); err != nil {
		return Result{}, err
	}
	return Build(file, out, memory)
}

// TestHostileFiles: no file panics, takes much longer than the limit of time, or more memory than it reserves.
func TestHostileFiles(t *testing.T) {
	files := elftest.Hostile()
	assert.GreaterOrEqual(t, len(files), 60)
	out := must.Get(os.Create(filepath.Join(t.TempDir(), "index")))(t)
	defer out.Close()
	for name, data := range files {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		result, err := hostileBuild(t, data, out)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		assert.NotErrorIs(t, err, errPanic, name)
		assert.Less(t, took, 10*hostileTime, name)
		// What is garbage in between counts here, and not at once in the memory of a process.
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*hostileMemory), name)
		content := must.Get(os.ReadFile(out.Name()))(t)
		if err == nil {
			table, err := index.Read(content)
			require.NoError(t, err, name)
			table.Lookup(nil, elftest.CodeAddress)
		}
		if testing.Verbose() {
			t.Logf("%-45s %8d bytes: %6d ms, %4d MiB allocated, index of %7d bytes, %+v, %v", name, len(data), took.Milliseconds(),
				(after.TotalAlloc-before.TotalAlloc)>>20, len(content), result.Debug, err)
		}
	}
}

// A text of more than 64 KiB is no name. The demangler would end the process by a stack that is too large.
func TestLongNames(t *testing.T) {
	files := elftest.Hostile()
	out := must.Get(os.Create(filepath.Join(t.TempDir(), "index")))(t)
	defer out.Close()
	for _, name := range []string{"a long name in its entry", "a long linkage name"} {
		result, err := hostileBuild(t, files[name], out)
		require.NoError(t, err, name)
		assert.Equal(t, index.QualityNone, result.Quality, name)
		assert.Zero(t, result.Debug, name)
	}
}

// FuzzBuild reads damaged files. Run it with: go test -run '^$' -fuzz FuzzBuild ./internal/symbols.
func FuzzBuild(f *testing.F) {
	for _, data := range elftest.Hostile() {
		if len(data) < 1<<16 {
			f.Add(data)
		}
	}
	f.Add(elftest.WithSymbols("aabbccdd", "_ZN3app6Worker4stepEj"))
	out, err := os.Create(filepath.Join(f.TempDir(), "index"))
	require.NoError(f, err)
	f.Cleanup(func() { _ = out.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		_, err := hostileBuild(t, data, out)
		require.NotErrorIs(t, err, errPanic)
		if err != nil {
			return
		}
		_, err = index.Read(must.Get(os.ReadFile(out.Name()))(t))
		require.NoError(t, err)
	})
}

// TestLongSymbolNames: the work on a long name that all symbols share can be ended.
func TestLongSymbolNames(t *testing.T) {
	const symbols, size = 256, 64_000
	var table []byte
	for i := range uint64(symbols) {
		table = append(table, elftest.Symbol(1, elftest.CodeAddress+i, 1)...)
	}
	file := elftest.Make(elftest.Code(),
		elftest.Section{Name: ".symtab", Type: 2, Link: 3, Data: table},
		elftest.Section{Name: ".strtab", Type: 3, Data: []byte("\x00" + strings.Repeat("x", size) + "\x00")},
	)
	calls := 0
	work := meter.New(0, func(int64) error {
		calls++
		return nil
	})
	elf := must.Get(elffile.Open(bytes.NewReader(file), int64(len(file)), work))(t)
	w := must.Get(os.Create(filepath.Join(t.TempDir(), "index")))(t)
	defer w.Close()
	_, err := Build(elf, w, work)
	require.NoError(t, err)
	assert.Greater(t, calls, symbols*size/(512<<10))
}
