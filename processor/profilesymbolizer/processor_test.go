// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
)

const program = `
static int inner(int x) { return x * 7 + 1; }
__attribute__((noinline)) int outer(int x) {
  int y = x;
  for (int i = 0; i < x; i++) y ^=
    inner(y);
  return y;
}
int main(int argc, char **argv) { return outer(argc); }
`

// compiled is a program in a file, and the address of its function outer.
type compiled struct {
	path, buildID string
	outer, size   uint64
}

const buildID = "0123456789abcdef0123456789abcdef01234567"

// compileC compiles the program in a directory.
func compileC(t *testing.T, directory string) compiled {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	source, binary := filepath.Join(directory, "program.c"), filepath.Join(directory, "program")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	out, err := exec.Command("gcc", "-O2", "-g", "-Wl,--build-id=0x"+buildID, "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if s.Name == "outer" {
			return compiled{binary, buildID, s.Value, s.Size}
		}
	}
	t.Fatal("there is no outer")
	return compiled{}
}

// start is where the program is in the memory of a process.
const start = 0x7f0000000000

// messageOf returns a message with a location for each byte of the function outer.
func messageOf(c compiled) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "samples", "count", "process.executable.build_id.gnu", filepath.Base(c.path))
	d.FunctionTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	id := d.AttributeTable().AppendEmpty()
	id.SetKeyStrindex(3)
	id.Value().SetStr(c.buildID)
	m := d.MappingTable().AppendEmpty()
	page := c.outer &^ 0xfff
	m.SetMemoryStart(start + page)
	m.SetMemoryLimit(start + page + 0x1000)
	m.SetFileOffset(page)
	m.SetFilenameStrindex(4)
	m.AttributeIndices().Append(1)
	profile := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SetTime(1)
	profile.SetDurationNano(1)
	profile.SampleType().SetTypeStrindex(1)
	profile.SampleType().SetUnitStrindex(2)
	for i := range c.size {
		l := d.LocationTable().AppendEmpty()
		l.SetMappingIndex(1)
		l.SetAddress(start + c.outer + i)
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(i + 1))
		s := profile.Samples().AppendEmpty()
		s.SetStackIndex(int32(i + 1))
		s.Values().Append(1)
	}
	return pd
}

// symbolizerOf starts a processor in front of a sink.
func symbolizerOf(t *testing.T, tel *componenttest.Telemetry, cfg *Config) (*symbolizer, *consumertest.ProfilesSink) {
	t.Helper()
	require.NoError(t, cfg.Validate())
	set := processortest.NewNopSettings(metadata.Type)
	if tel != nil {
		set.TelemetrySettings = tel.NewTelemetrySettings()
	}
	sink := &consumertest.ProfilesSink{}
	s, err := newSymbolizer(set, cfg, sink)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, s.Shutdown(context.Background())) })
	return s, sink
}

func last(sink *consumertest.ProfilesSink) pprofile.Profiles {
	all := sink.AllProfiles()
	return all[len(all)-1]
}

// linesOf returns the names and lines of a location, the innermost first.
func linesOf(d pprofile.ProfilesDictionary, location int) (names []string, lines []int64) {
	for _, line := range d.LocationTable().At(location).Lines().All() {
		f := d.FunctionTable().At(int(line.FunctionIndex()))
		names = append(names, d.StringTable().At(int(f.NameStrindex())))
		lines = append(lines, line.Line())
	}
	return names, lines
}

// A program in a directory names the addresses of a message: functions, inlined ones, files and lines.
func TestDirectory(t *testing.T) {
	directory := t.TempDir()
	c := compileC(t, directory)
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{directory}
	cfg.MaxWait = time.Minute
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	pd := last(sink)
	require.NoError(t, profiletest.Check(pd))
	d := pd.Dictionary()
	inlined := 0
	for i := 1; i < d.LocationTable().Len(); i++ {
		names, lines := linesOf(d, i)
		require.NotEmpty(t, names, i)
		assert.Equal(t, "outer", names[len(names)-1])
		if len(names) == 2 {
			inlined++
			assert.Equal(t, "inner", names[0])
			assert.EqualValues(t, 2, lines[0])
			assert.EqualValues(t, 6, lines[1], "the line of the call")
		}
	}
	assert.Positive(t, inlined)
	f := d.FunctionTable().At(1)
	assert.Equal(t, filepath.Join(directory, "program.c"), d.StringTable().At(int(f.FilenameStrindex())))
	keys := map[string]bool{}
	for _, a := range d.MappingTable().At(1).AttributeIndices().All() {
		keys[d.StringTable().At(int(d.AttributeTable().At(int(a)).KeyStrindex()))] = true
	}
	assert.Equal(t, map[string]bool{
		"process.executable.build_id.gnu": true, "pprof.mapping.has_functions": true, "pprof.mapping.has_filenames": true,
		"pprof.mapping.has_line_numbers": true, "pprof.mapping.has_inline_frames": true,
	}, keys)
}

// Without max_wait, the first message goes on as it is, and a later one has names.
func TestNeverWaits(t *testing.T) {
	directory := t.TempDir()
	c := compileC(t, directory)
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{directory}
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	names, _ := linesOf(last(sink).Dictionary(), 1)
	assert.Empty(t, names)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, s.ConsumeProfiles(context.Background(), messageOf(c)))
		names, _ := linesOf(last(sink).Dictionary(), 1)
		assert.Contains(t, names, "outer")
	}, time.Minute, 10*time.Millisecond)
}
