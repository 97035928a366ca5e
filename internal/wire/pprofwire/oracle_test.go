// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// TestCorpus: for every real profile, the tables have the same content as the profile of google/pprof. If google/pprof
// returns an error, so does Read, except for payloads whose string table does not begin with the empty string.
func TestCorpus(t *testing.T) { testFiles(t, contents(t, profiletest.CorpusPprofs(t, "real", "edge"))) }

// TestOwnFiles does the same with the profiles of this repository.
func TestOwnFiles(t *testing.T) { testFiles(t, contents(t, profiletest.OwnPprofs(t))) }

// TestEdgeFiles does the same with files with one unusual property each.
func TestEdgeFiles(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range must.Get(filepath.Glob("testdata/edge/*.pb"))(t) {
		files[name] = must.Get(os.ReadFile(name))(t)
	}
	testFiles(t, files)
}

func contents(t *testing.T, files []profiletest.PprofFile) map[string][]byte {
	t.Helper()
	byName := map[string][]byte{}
	for _, file := range files {
		byName[file.Name] = file.Bytes(t)
	}
	return byName
}

func testFiles(t *testing.T, files map[string][]byte) {
	t.Helper()
	same, refused := 0, 0
	var p Profile
	for name, content := range files {
		raw, _, err := inflate.Into(nil, content, 1<<30, nil)
		if err != nil {
			continue
		}
		theirs, theirErr := profile.ParseUncompressed(raw)
		err = p.Read(raw, anySize)
		switch {
		case theirErr != nil && err == nil:
			refused++
			assert.NotEmpty(t, p.String(0), "%s: google/pprof: %v", name, theirErr)
		case theirErr != nil:
			refused++
			require.ErrorIs(t, err, ErrMalformed, name)
		case strings.HasSuffix(name, "-id-zero.pb"):
			require.ErrorContains(t, err, "has id 0, which is reserved", name)
		case theirs.CheckValid() != nil: // google/pprof cannot write references that do not exist
			require.NoError(t, err, name)
		default:
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(rewritten(t, theirs), rewritten(t, graph(&p))), "%s: the tables say something else", name)
			same++
		}
	}
	assert.Greater(t, same, refused)
}

// rewritten returns the profile as google/pprof writes it. Equal profiles have equal bytes.
func rewritten(t require.TestingT, p *profile.Profile) []byte {
	var buffer bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&buffer))
	return buffer.Bytes()
}

// graph converts the tables to the objects of google/pprof.
func graph(p *Profile) *profile.Profile {
	text := func(i uint32) string { return string(p.String(i)) }
	valueType := func(v ValueType) *profile.ValueType {
		return &profile.ValueType{Type: text(v.Type), Unit: text(v.Unit)}
	}
	g := &profile.Profile{
		DropFrames: text(p.DropFrames), KeepFrames: text(p.KeepFrames), TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
		PeriodType: valueType(p.PeriodType), Period: p.Period, DefaultSampleType: text(p.DefaultSampleType), DocURL: text(p.DocURL),
	}
	for _, v := range p.SampleTypes {
		g.SampleType = append(g.SampleType, valueType(v))
	}
	for _, c := range p.Comments {
		g.Comments = append(g.Comments, text(c))
	}
	mappings, functions := map[uint64]*profile.Mapping{}, map[uint64]*profile.Function{}
	for i := range p.Mappings {
		m := &p.Mappings[i]
		mappings[m.ID] = &profile.Mapping{
			ID: m.ID, Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: text(m.Filename), BuildID: text(m.BuildID),
			HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames, HasLineNumbers: m.HasLineNumbers, HasInlineFrames: m.HasInlineFrames,
		}
		g.Mapping = append(g.Mapping, mappings[m.ID])
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		functions[f.ID] = &profile.Function{
			ID: f.ID, Name: text(f.Name), SystemName: text(f.SystemName), Filename: text(f.Filename), StartLine: f.StartLine,
		}
		g.Function = append(g.Function, functions[f.ID])
	}
	locations := map[uint64]*profile.Location{}
	for i := range p.Locations {
		l := &p.Locations[i]
		location := &profile.Location{ID: l.ID, Mapping: mappings[l.MappingID], Address: l.Address, IsFolded: l.IsFolded}
		for _, line := range p.LinesAt(i) {
			location.Line = append(location.Line, profile.Line{Function: functions[line.FunctionID], Line: line.Line, Column: line.Column})
		}
		locations[l.ID] = location
		g.Location = append(g.Location, location)
	}
	var from Sample
	for _, end := range p.Samples {
		s := &profile.Sample{Value: append([]int64(nil), p.Values[from.ValuesEnd:end.ValuesEnd]...)}
		for _, id := range p.LocationIDs[from.LocationsEnd:end.LocationsEnd] {
			s.Location = append(s.Location, locations[id])
		}
		for _, l := range p.Labels[from.LabelsEnd:end.LabelsEnd] {
			addLabel(s, text(l.Key), text(l.Str), text(l.NumUnit), l)
		}
		g.Sample = append(g.Sample, s)
		from = end
	}
	return g
}

// addLabel adds a label to those with the same key and kind. For google/pprof, a number 0 without a unit is not a label.
func addLabel(s *profile.Sample, key, str, unit string, l Label) {
	if s.Label == nil {
		s.Label, s.NumLabel, s.NumUnit = map[string][]string{}, map[string][]int64{}, map[string][]string{}
	}
	switch {
	case l.Str != 0:
		s.Label[key] = append(s.Label[key], str)
	case l.Num != 0 || l.NumUnit != 0:
		s.NumLabel[key] = append(s.NumLabel[key], l.Num)
		s.NumUnit[key] = append(s.NumUnit[key], unit)
	}
}
