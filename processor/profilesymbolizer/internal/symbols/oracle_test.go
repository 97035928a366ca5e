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

	"github.com/otelpprof/otelpprof/internal/testkit/must"
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
	f := must.Get(os.Open(name))(tb)
	defer f.Close()
	info := must.Get(f.Stat())(tb)
	file := must.Get(elffile.Open(f, info.Size(), nil))(tb)
	out := must.Get(os.Create(filepath.Join(tb.TempDir(), "index")))(tb)
	defer out.Close()
	result := must.Get(Build(file, out, nil))(tb)
	data := must.Get(os.ReadFile(out.Name()))(tb)
	table := must.Get(index.Read(data))(tb)
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
	f := must.Get(os.Open(name))(t)
	defer f.Close()
	info := must.Get(f.Stat())(t)
	file := must.Get(elffile.Open(f, info.Size(), nil))(t)
	for _, s := range file.Sections {
		if s.Name == section {
			for a := s.Addr; a < s.Addr+s.Size; a += step {
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
