// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// run runs a program, and returns what it wrote.
func run(t *testing.T, directory string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", command, errors.String())
	return string(out)
}

// build makes the index of a file.
func build(tb testing.TB, name string) (*index.Table, Result) {
	tb.Helper()
	f, err := os.Open(name)
	require.NoError(tb, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(tb, err)
	file, err := elffile.Open(f, info.Size(), nil)
	require.NoError(tb, err)
	out, err := os.Create(filepath.Join(tb.TempDir(), "index"))
	require.NoError(tb, err)
	defer out.Close()
	result, err := Build(file, out, nil)
	require.NoError(tb, err)
	data, err := os.ReadFile(out.Name())
	require.NoError(tb, err)
	require.Len(tb, data, int(result.Bytes))
	table, err := index.Read(data)
	require.NoError(tb, err)
	return table, result
}

// frame is one of an address, without what is not compared.
type frame struct {
	function, file string
	line           int
}

func (f frame) String() string { return fmt.Sprintf("%s %s:%d", f.function, f.file, f.line) }

func framesOf(table *index.Table, address uint64, mangled bool) (frames []frame) {
	for _, f := range table.Lookup(nil, address) {
		names := table.Names(f)
		if mangled {
			names.Name = names.SystemName
		}
		frames = append(frames, frame{string(names.Name), path.Clean(string(names.Filename)), int(f.Line)})
	}
	return frames
}

// addresses returns those of each so many bytes of a section of a file.
func addresses(t *testing.T, name, section string, step uint64) (list []uint64) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := elffile.Open(f, info.Size(), nil)
	require.NoError(t, err)
	for _, s := range file.Sections {
		if s.Name == section {
			for a := s.Address; a < s.Address+s.Size; a += step {
				list = append(list, a)
			}
		}
	}
	require.NotEmpty(t, list)
	return list
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
