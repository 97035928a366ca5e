// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// run runs a program, and returns what it wrote.
func run(t *testing.T, directory string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // The commands are those of this test.
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", command, errors.String())
	return string(out)
}

// needs skips a test for want of a program.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
}

// build makes the index of a file.
func build(t testing.TB, name string) (*index.Table, Result) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := elffile.Open(f, info.Size(), nil)
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(t.TempDir(), "index"))
	require.NoError(t, err)
	defer out.Close()
	result, err := Build(file, out, nil)
	require.NoError(t, err)
	data, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Len(t, data, int(result.Bytes))
	table, err := index.Read(data)
	require.NoError(t, err)
	return table, result
}

// frame is one of an address, as addr2line writes it.
type frame struct {
	function, file string
	line           int
}

func (f frame) String() string { return fmt.Sprintf("%s %s:%d", f.function, f.file, f.line) }

func framesOf(table *index.Table, address uint64, mangled bool) (frames []frame) {
	for _, f := range table.Lookup(nil, address) {
		name, systemName, _ := table.Function(f.Function)
		if mangled {
			name = systemName
		}
		frames = append(frames, frame{name, path.Clean(table.Text(f.File)), int(f.Line)})
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

// addr2line returns the frames of addresses by addr2line.
func addr2line(t *testing.T, name string, list []uint64, demangled bool) [][]frame {
	t.Helper()
	arguments := []string{"-a", "-i", "-f", "-e", name}
	if demangled {
		arguments = append(arguments, "-C")
	}
	var input strings.Builder
	for _, a := range list {
		fmt.Fprintf(&input, "%#x\n", a)
	}
	cmd := exec.Command("addr2line", arguments...) //nolint:gosec // as above
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	require.NoError(t, err)
	var result [][]frame
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if text := scanner.Text(); strings.HasPrefix(text, "0x") {
			result = append(result, nil)
			continue
		}
		function := scanner.Text()
		scanner.Scan()
		place, _, _ := strings.Cut(scanner.Text(), " (discriminator")
		file, line, _ := cutLast(place, ":")
		number, _ := strconv.Atoi(line) // "?" is none
		if file == "??" {
			file = ""
		}
		last := len(result) - 1
		result[last] = append(result[last], frame{function, path.Clean(file), number})
	}
	return result
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
