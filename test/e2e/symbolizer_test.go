// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

const (
	nativeProgram = `
static int inner(int x) { return x * 7 + 1; }
__attribute__((noinline)) int outer(int x) {
  int y = x;
  for (int i = 0; i < x; i++) y ^= inner(y);
  return y;
}
int main(int argc, char **argv) { return outer(argc); }
`
	nativeBuildID = "0123456789abcdef0123456789abcdef01234567"
	nativeStart   = 0x7f0000000000
)

// nativeProfile compiles a program in a directory, and returns a pprof of its function outer without names.
func nativeProfile(t *testing.T, directory string) *profile.Profile {
	t.Helper()
	requirement.Symbolizers(t, "gcc")
	source, binary := filepath.Join(directory, "program.c"), filepath.Join(directory, "program")
	require.NoError(t, os.WriteFile(source, []byte(nativeProgram), 0o600))
	out, err := exec.Command("gcc", "-O2", "-g", "-Wl,--build-id=0x"+nativeBuildID, "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.Symbols()
	require.NoError(t, err)
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, TimeNanos: time.Now().UnixNano(), DurationNanos: 1e9}
	for _, s := range symbols {
		if s.Name != "outer" {
			continue
		}
		page := s.Value &^ 0xfff
		m := &profile.Mapping{ID: 1, Start: nativeStart + page, Limit: nativeStart + page + 0x1000, Offset: page, File: "/srv/program", BuildID: nativeBuildID}
		p.Mapping = []*profile.Mapping{m}
		for i := range s.Size {
			l := &profile.Location{ID: i + 1, Mapping: m, Address: nativeStart + s.Value + i}
			p.Location = append(p.Location, l)
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
		}
	}
	require.NotEmpty(t, p.Sample)
	return p
}

// TestSymbolizer uploads a profile of a native program without names, and go tool pprof shows them.
func TestSymbolizer(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	p := nativeProfile(t, directory)
	g := start(t, fmt.Sprintf("yaml:{processors: {profile_symbolizer: {directories: [%s], max_wait: 30s}}, "+
		"service: {pipelines: {profiles: {processors: [profile_symbolizer]}}}}", directory))
	var body bytes.Buffer
	require.NoError(t, p.Write(&body))
	g.accept(t, "?service.name=native", body.Bytes())
	got := g.readFile(t, "native")
	for _, l := range got.Location {
		require.NotEmpty(t, l.Line)
		assert.Equal(t, "outer", l.Line[len(l.Line)-1].Function.Name)
	}
	assert.True(t, got.Mapping[0].HasFunctions)
	assert.True(t, got.Mapping[0].HasInlineFrames)
	top, err := exec.Command("go", "tool", "pprof", "-top", "-symbolize=none", filepath.Join(g.directory, g.files(t)[0])).CombinedOutput()
	require.NoError(t, err, "%s", top)
	assert.Contains(t, string(top), "outer")
	assert.Contains(t, string(top), "inner (inline)")
}

// busyProgram is without symbols where perf looks, so that perf prints addresses.
const busyProgram = `
static int inner(int x) { return x * 7 + 1; }
__attribute__((noinline)) int outer(int x) {
  int y = x;
  for (int i = 0; i < 1000000; i++) y ^= inner(y + i);
  return y;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 300; i++) sum += outer(argc + i);
  return sum & 1;
}
`

// perfScript records a stripped program in a directory, whose symbols are in another one. Where perf cannot record, it returns what
// perf 6.1 prints for a sample of the function outer.
func perfScript(t *testing.T, directory, symbols string) []byte {
	t.Helper()
	requirement.Symbolizers(t, "gcc", "strip")
	source, whole, binary := filepath.Join(directory, "busy.c"), filepath.Join(symbols, "busy"), filepath.Join(directory, "busy")
	require.NoError(t, os.WriteFile(source, []byte(busyProgram), 0o600))
	for _, command := range [][]string{
		{"gcc", "-O2", "-g", "-Wl,--build-id=0x" + nativeBuildID, "-o", whole, source}, {"strip", "-o", binary, whole},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	data := filepath.Join(directory, "perf.data")
	out, err := exec.Command("perf", "record", "--buildid-mmap", "-e", "cpu-clock", "-g", "-o", data, binary).CombinedOutput()
	if err == nil {
		out, err = exec.Command("perf", "script", "--show-mmap-events", "-i", data).Output()
	}
	if err == nil {
		return out
	}
	t.Logf("cannot record with perf: %v: %s", err, out)
	file := must.Get(elf.Open(whole))(t)
	defer file.Close()
	for _, s := range must.Get(file.Symbols())(t) {
		if s.Name == "outer" {
			page := s.Value &^ 0xfff
			return fmt.Appendf(nil, "busy 7 1.000001: PERF_RECORD_MMAP2 7/7: [%#x(0x1000) @ %#x <%s>]: r-xp %s\n"+
				"busy 7 1.000002:  250000 cpu-clock: \n\t%16x [unknown] (%s)\n\n", nativeStart+page, page, nativeBuildID, binary, s.Value+s.Size/2, binary)
		}
	}
	t.Fatal("there is no outer")
	return nil
}

// TestPerfScript uploads the output of perf script of a program that perf has no symbols of, and go tool pprof shows names.
func TestPerfScript(t *testing.T) {
	t.Parallel()
	symbols := t.TempDir()
	text := perfScript(t, t.TempDir(), symbols)
	require.NotContains(t, string(text), "outer")
	g := start(t, fmt.Sprintf("yaml:{processors: {profile_symbolizer: {directories: [%s], max_wait: 30s}}, "+
		"service: {pipelines: {profiles: {processors: [profile_symbolizer]}}}}", symbols))
	g.accept(t, "?service.name=busy&format=perf_script", text)
	g.readFile(t, "busy")
	top, err := exec.Command("go", "tool", "pprof", "-top", "-symbolize=none", filepath.Join(g.directory, g.files(t)[0])).CombinedOutput()
	require.NoError(t, err, "%s", top)
	assert.Contains(t, string(top), "outer")
	assert.Contains(t, string(top), "inner (inline)")
}
