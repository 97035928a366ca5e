// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
)

// Locations with lines are left alone, or named anew with replace_lines. Then is_folded, which was said of the old lines, is gone.
func TestReplaceLines(t *testing.T) {
	c, cfg := programInDirectory(t)
	for _, replace := range []bool{false, true} {
		cfg.ReplaceLines = replace
		s, sink := symbolizerOf(t, nil, cfg)
		pd := messageOf(c)
		d := pd.Dictionary()
		d.StringTable().Append("old", "pprof.location.is_folded")
		d.FunctionTable().AppendEmpty().SetNameStrindex(5)
		folded := d.AttributeTable().AppendEmpty()
		folded.SetKeyStrindex(6)
		folded.Value().SetBool(true)
		l := d.LocationTable().At(1)
		l.Lines().AppendEmpty().SetFunctionIndex(1)
		l.AttributeIndices().Append(2)
		require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
		got := last(sink).Dictionary()
		names := namesIn(last(sink))
		if replace {
			assert.Equal(t, "outer", names[len(names)-1])
			assert.Zero(t, got.LocationTable().At(1).AttributeIndices().Len())
		} else {
			assert.Equal(t, []string{"old"}, names)
			assert.Equal(t, 1, got.LocationTable().At(1).AttributeIndices().Len())
		}
	}
}

// A name without a line does not replace the lines of a location.
func TestReplaceLinesByLines(t *testing.T) {
	c := compiled{path: "program", buildID: buildID, outer: 0x1000, size: 2}
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{t.TempDir()}
	cfg.MaxWait = time.Minute
	cfg.ReplaceLines = true
	file := elftest.WithAddresses(c.buildID, []uint64{start + c.outer, start + c.outer + 1})
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Directories[0], c.path), file, 0o600))
	tel := componenttest.NewTelemetry()
	s, sink := symbolizerOf(t, tel, cfg)
	pd := messageOf(c)
	d := pd.Dictionary()
	d.StringTable().Append("inlined", "outer")
	for i := range 2 {
		d.FunctionTable().AppendEmpty().SetNameStrindex(int32(5 + i))
		line := d.LocationTable().At(1).Lines().AppendEmpty()
		line.SetFunctionIndex(int32(1 + i))
		line.SetLine(int64(10 + i))
	}
	require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	names, lines := linesOf(last(sink).Dictionary(), 1)
	assert.Equal(t, []string{"inlined", "outer"}, names)
	assert.Equal(t, []int64{10, 11}, lines)
	names, _ = linesOf(last(sink).Dictionary(), 2)
	assert.Equal(t, []string{"app::Worker::step7f0000001001()"}, names)
	assert.Equal(t, map[string]int64{"result=named ": 1, "result=unknown ": 1}, sums(t, tel, "locations"))
}
