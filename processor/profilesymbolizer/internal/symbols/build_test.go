// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// atMost is how many addresses of a binary are compared.
const atMost = 20000

// spread returns addresses from the whole code of a file.
func spread(t *testing.T, name string) []uint64 {
	list := addresses(t, name, ".text", 1)
	if len(list) > atMost {
		list = addresses(t, name, ".text", uint64(len(list)/atMost)|1)
	}
	return list
}

// source returns the path of a file in testdata.
func source(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// The differences from llvm-symbolizer that are meant.
const (
	none        = ""
	padding     = "llvm-symbolizer has no symbol: padding between functions"
	clone       = "llvm-symbolizer has the symbol of a clone, such as f.isra.0, for the outermost function"
	alias       = "another one of the symbols of an address without lines"
	structor    = "llvm-symbolizer has another one of the symbols of a constructor or destructor"
	object      = "llvm-symbolizer has the object file of a symbol without lines"
	unexplained = "unexplained"
)

// difference says why frames differ from those of llvm-symbolizer.
func difference(got, want []frame) string {
	switch {
	case slices.Equal(got, want):
		return none
	case want[0].function == "??":
		return padding
	case len(got) != len(want):
		return unexplained
	}
	if len(got) == 1 && got[0].line == 0 && want[0].line == 0 {
		if got[0].function != want[0].function {
			return alias
		}
		return object
	}
	last := len(got) - 1
	if got[last].file != want[last].file || got[last].line != want[last].line || !slices.Equal(got[:last], want[:last]) {
		return unexplained
	}
	function, symbol := got[last].function, want[last].function
	switch {
	case strings.HasPrefix(symbol, function+".") || strings.HasSuffix(symbol, ".cold"):
		return clone
	case oneStructor.ReplaceAllString(function, "") == oneStructor.ReplaceAllString(symbol, ""):
		return structor
	}
	return unexplained
}

// oneStructor matches what tells the symbols of constructors and destructors with one code apart.
var oneStructor = regexp.MustCompile(`[CD][12][EI]`)

// compare compares the frames of many addresses of a binary with those of llvm-symbolizer for another file with the same code.
func compare(t *testing.T, name, oracle string) {
	t.Helper()
	table, result := build(t, name)
	list := spread(t, oracle)
	differences := map[string]int{}
	shown := 0
	for i, want := range llvmSymbolizer(t, oracle, list) {
		got := framesOf(table, list[i], true)
		reason := difference(got, want)
		differences[reason]++
		if reason == unexplained && shown < 3 {
			shown++
			t.Logf("%#x: got %v, want %v", list[i], got, want)
		}
	}
	t.Logf("%+v: of %d addresses: %v", result, len(list), differences)
	assert.Zero(t, differences[unexplained])
	assert.Greater(t, differences[none], len(list)/2)
}

// TestCompilers compares binaries of C++ with llvm-symbolizer: versions of DWARF, positions, and forms of sections.
func TestCompilers(t *testing.T) {
	needs(t, "g++", "objcopy", "llvm-symbolizer")
	for name, flags := range map[string]string{
		"dwarf-5":        "-O2 -gdwarf-5",
		"dwarf-4":        "-O2 -gdwarf-4",
		"dwarf-3":        "-O3 -gdwarf-3 -gstrict-dwarf",
		"dwarf-2":        "-O2 -gdwarf-2",
		"dwarf-64":       "-O2 -gdwarf-5 -gdwarf64",
		"not optimized":  "-O0 -gdwarf-5",
		"fixed position": "-O2 -gdwarf-5 -no-pie",
		"static":         "-O2 -gdwarf-5 -static",
		"zlib":           "-O2 -gdwarf-5 -gz=zlib",
		"zlib-gnu":       "-O2 -gdwarf-4 -gz=zlib-gnu",
		"type units":     "-O2 -gdwarf-5 -fdebug-types-section",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(t.TempDir(), "worker")
			run(t, filepath.Dir(binary), slices.Concat([]string{"g++", "-std=c++17", "-o", binary}, strings.Fields(flags), []string{source(t, "worker.cc")})...)
			compare(t, binary, binary)
		})
	}
}

// TestGo compares binaries of Go. One without debug information has its own table of functions.
func TestGo(t *testing.T) {
	needs(t, "go", "llvm-symbolizer")
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			full, stripped := filepath.Join(directory, "full"), filepath.Join(directory, "stripped")
			run(t, directory, "go", "build", "-buildmode="+mode, "-o", full, source(t, "worker/main.go"))
			run(t, directory, "go", "build", "-buildmode="+mode, "-ldflags=-s -w", "-o", stripped, source(t, "worker/main.go"))
			compare(t, full, full)
			compare(t, stripped, full)
		})
	}
}

// TestStripped compares what is left in a stripped binary, and in files of debug information.
func TestStripped(t *testing.T) {
	needs(t, "g++", "objcopy", "strip", "llvm-symbolizer")
	directory := t.TempDir()
	full := filepath.Join(directory, "full")
	run(t, directory, "g++", "-std=c++17", "-O2", "-g", "-o", full, source(t, "worker.cc"))

	t.Run("debug information only", func(t *testing.T) {
		separate := filepath.Join(directory, "separate")
		run(t, directory, "objcopy", "--only-keep-debug", full, separate)
		compare(t, separate, full)
	})
	t.Run("zstd", func(t *testing.T) {
		if out := run(t, directory, "objcopy", "--help"); !strings.Contains(out, "zstd") {
			t.Skip("objcopy has no zstd")
		}
		compressed := filepath.Join(directory, "zstd")
		run(t, directory, "objcopy", "--compress-debug-sections=zstd", full, compressed)
		compare(t, compressed, full)
	})
	t.Run("gnu_debugdata", func(t *testing.T) {
		needs(t, "xz")
		// As Fedora's find-debuginfo makes it: what is left of the symbols, compressed, in a stripped file.
		symbols, mini := filepath.Join(directory, "symbols"), filepath.Join(directory, "mini")
		run(t, directory, "objcopy", "-S", "--remove-section=.comment", "--keep-symbol=main", "--keep-symbol=_ZN3app6Worker4stepEj", full, symbols)
		run(t, directory, "xz", "-k", symbols)
		run(t, directory, "strip", "-o", mini, full)
		run(t, directory, "objcopy", "--add-section=.gnu_debugdata="+symbols+".xz", mini)
		table, result := build(t, mini)
		assert.EqualValues(t, 1, result.Quality)
		found := 0
		for _, a := range spread(t, full) {
			for _, f := range framesOf(table, a, false) {
				if f.function == "app::Worker::step(unsigned int)" {
					found++
				}
			}
		}
		assert.Greater(t, found, 100)
		require.NoError(t, os.Remove(mini))
	})
}
