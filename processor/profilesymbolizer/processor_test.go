// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
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
	requirement.Symbolizers(t, "gcc")
	source, binary := filepath.Join(directory, "program.c"), filepath.Join(directory, "program")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	out, err := exec.Command("gcc", "-O2", "-g", "-Wl,--build-id=0x"+buildID, "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	file := must.Get(elf.Open(binary))(t)
	defer file.Close()
	symbols := must.Get(file.Symbols())(t)
	for _, s := range symbols {
		if s.Name == "outer" {
			return compiled{binary, buildID, s.Value, s.Size}
		}
	}
	t.Fatal("there is no outer")
	return compiled{}
}

// programInDirectory compiles the program, and returns a configuration with its directory.
func programInDirectory(t *testing.T) (compiled, *Config) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{t.TempDir()}
	cfg.MaxWait = time.Minute
	return compileC(t, cfg.Directories[0]), cfg
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
	s := must.Get(newSymbolizer(set, cfg, sink))(t)
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

// namesIn returns the names of the first location, the innermost first.
func namesIn(pd pprofile.Profiles) []string {
	names, _ := linesOf(pd.Dictionary(), 1)
	return names
}

// A program in a directory names the addresses of a message: functions, inlined ones, files and lines.
func TestDirectory(t *testing.T) {
	c, cfg := programInDirectory(t)
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
	assert.Equal(t, c.path+".c", d.StringTable().At(int(f.FilenameStrindex())))
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
	c, cfg := programInDirectory(t)
	cfg.MaxWait = 0
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	assert.Empty(t, namesIn(last(sink)))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, s.ConsumeProfiles(context.Background(), messageOf(c)))
		assert.Contains(t, namesIn(last(sink)), "outer")
	}, time.Minute, 10*time.Millisecond)
}

// What does not fit into the memory budget goes on without names.
func TestMemory(t *testing.T) {
	c, cfg := programInDirectory(t)
	tel := componenttest.NewTelemetry()
	s, sink := symbolizerOf(t, tel, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	pd := messageOf(c)
	s.budget = memory.New(2*dictionary.MessageMemory(pd)*8/7+500, time.Millisecond) // one eighth is kept for small requests
	require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	assert.Empty(t, namesIn(last(sink)))
	require.NoError(t, profiletest.Check(last(sink)))
	assert.EqualValues(t, c.size, sums(t, tel, "locations")["result=memory "])
	used, _ := s.budget.Used()
	assert.Zero(t, used)
}

// A message that can never fit is refused for good.
func TestMessageTooLarge(t *testing.T) {
	c, cfg := programInDirectory(t)
	s, sink := symbolizerOf(t, componenttest.NewTelemetry(), cfg)
	s.budget = memory.New(1000, time.Hour)
	err := s.ConsumeProfiles(t.Context(), messageOf(c))
	require.ErrorIs(t, err, memory.ErrTooLarge)
	assert.True(t, consumererror.IsPermanent(err))
	assert.Empty(t, sink.AllProfiles())
}

// A file whose index needs more than max_index_memory has failed.
func TestIndexMemory(t *testing.T) {
	c, cfg := programInDirectory(t)
	s, sink := symbolizerOf(t, nil, cfg)
	cfg.MaxIndexMemory = 1000 // Validate does not allow so little.
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	assert.Empty(t, namesIn(last(sink)))
	budget := memory.New(1<<20, time.Millisecond)
	s.budget = budget
	work, release := s.memory(t.Context())
	assert.ErrorIs(t, work.Use(2000), source.ErrTooLarge)
	cfg.MaxIndexMemory = 1 << 30
	assert.ErrorIs(t, work.Use(2<<20), source.ErrTooLarge, "it exceeds the budget")
	release()
	used, _ := budget.Used()
	assert.Zero(t, used)
}

// Indices that do not exist are left to those who check them.
func TestInvalidIndices(t *testing.T) {
	c, cfg := programInDirectory(t)
	s, sink := symbolizerOf(t, nil, cfg)
	for _, i := range []int32{-1, 7, 1 << 30} {
		pd := messageOf(c)
		d := pd.Dictionary()
		d.LocationTable().At(1).SetMappingIndex(i)
		d.MappingTable().At(1).AttributeIndices().Append(i)
		d.MappingTable().At(1).SetFilenameStrindex(i)
		d.AttributeTable().AppendEmpty().SetKeyStrindex(i)
		d.LocationTable().At(2).AttributeIndices().Append(i)
		require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
		assert.Empty(t, namesIn(last(sink)))
	}
	empty := pprofile.NewProfiles()
	require.NoError(t, s.ConsumeProfiles(t.Context(), empty))
}

// An error of the next consumer goes to the caller.
func TestErrorOfNext(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{t.TempDir()}
	s, _ := symbolizerOf(t, nil, cfg)
	want := errors.New("no")
	s.next = consumertest.NewErr(want)
	assert.ErrorIs(t, s.ConsumeProfiles(t.Context(), pprofile.NewProfiles()), want)
}

// Many senders at once get the same names.
func TestConcurrent(t *testing.T) {
	c, cfg := programInDirectory(t)
	s, sink := symbolizerOf(t, nil, cfg)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				assert.NoError(t, s.ConsumeProfiles(context.Background(), messageOf(c)))
			}
		})
	}
	group.Wait()
	for _, pd := range sink.AllProfiles() {
		assert.Contains(t, namesIn(pd), "outer")
	}
}
