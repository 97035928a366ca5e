// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// FuzzRead checks what Read promises for any input: it does not panic, all indices in the tables exist, and the size of the
// tables is limited. What google/pprof accepts is accepted, except for the errors in stricter.
//
//	go test -fuzz FuzzRead -fuzztime 10000000x -fuzzminimizetime 10x ./internal/wire/pprofwire
func FuzzRead(f *testing.F) {
	addSeeds(f)
	var p Profile // reused, as in the pools
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 32<<10 {
			t.Skip("longer than it needs to be to reach all of the code")
		}
		before := bytes.Clone(raw)
		checkCount(t, raw)
		err := p.Read(raw, anySize)
		require.Equal(t, before, raw, "the payload was changed")
		require.LessOrEqual(t, p.Bytes(), int64(largestRatio*len(raw)))
		theirs, theirErr := profile.ParseUncompressed(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			if theirErr == nil && !isStricter(err) {
				t.Fatalf("google/pprof accepts it: %v", err)
			}
			return
		}
		checkTables(t, &p)
		if theirErr == nil {
			require.Len(t, p.Samples, len(theirs.Sample))
			if theirs.CheckValid() == nil && bytes.Count(raw, []byte{11<<3 | wireBytes}) <= 1 {
				require.Equal(t, rewritten(t, theirs), rewritten(t, graph(&p)))
			}
		}
	})
}

// checkCount checks the promises of count: Read never finds more entries than were counted, and without an error it finds
// exactly as many. New tables have exactly that capacity.
func checkCount(t *testing.T, raw []byte) {
	t.Helper()
	reserved := int64(0)
	limits := NoLimits()
	limits.Memory = meter.New(0, func(bytes int64) error {
		require.GreaterOrEqual(t, bytes, reserved)
		reserved = bytes
		return nil
	})
	var p Profile
	err := p.Read(raw, limits)
	n, countErr := count(raw, &limits)
	if countErr != nil {
		require.Error(t, err)
		require.ErrorIs(t, countErr, ErrMalformed)
		return
	}
	require.LessOrEqual(t, p.Kept(), n.bytes())
	require.LessOrEqual(t, p.Kept(), reserved)
	if err == nil {
		require.Equal(t, n, p.counts())
	}
	require.NoError(t, limitsOf(n).readsWithSameError(raw, err))

	var repeats Profile
	reserved = 0
	limits.Memory = meter.New(0, func(bytes int64) error { reserved = bytes; return nil })
	require.Equal(t, err, repeats.ReadRepeats(raw, limits))
	n.repeats = n.samples
	require.LessOrEqual(t, repeats.Kept(), n.bytes())
	require.LessOrEqual(t, repeats.Kept(), reserved)
}

// limitsOf returns limits that are equal to the counted numbers.
func limitsOf(n counts) Limits {
	limits := NoLimits()
	limits.SampleTypes, limits.Samples = n.sampleTypes, n.samples
	return limits
}

// readsWithSameError reads raw with these limits, first into new tables and then into large enough ones. It returns an error
// of Read that differs from want.
func (l Limits) readsWithSameError(raw []byte, want error) error {
	var p Profile
	for range 2 {
		if err := p.Read(raw, l); err != nil && (want == nil || err.Error() != want.Error()) {
			return err
		}
	}
	return nil
}

// stricter has the errors for input that google/pprof accepts. Another difference is that google/pprof uses the last of several
// period types. We merge them, as protobuf requires.
var stricter = []string{
	"varint of more than 64 bits",
	"has a field with number 0",
	"is longer than necessary",
	"has id 0, which is reserved",
	// google/pprof does not check the unit of a label with a string.
	"label ", "label.num_unit",
}

// isStricter reports whether err is one of stricter, or one for a string index that no table can have. Read refuses such an
// index at once, even if the field appears again later with another value.
func isStricter(err error) bool {
	text := err.Error()
	if strings.HasSuffix(text, "does not exist") && strings.Contains(text, ": string ") {
		return true
	}
	return slices.ContainsFunc(stricter, func(s string) bool { return strings.Contains(text, s) })
}

// checkTables checks that every index in the tables exists.
func checkTables(t *testing.T, p *Profile) {
	t.Helper()
	text := func(indices ...uint32) {
		for _, i := range indices {
			require.LessOrEqual(t, len(p.String(i)), len(p.raw))
		}
	}
	for _, v := range append(slices.Clone(p.SampleTypes), p.PeriodType) {
		text(v.Type, v.Unit)
	}
	text(p.Comments...)
	text(p.DropFrames, p.KeepFrames, p.DefaultSampleType, p.DocURL)
	for _, m := range p.Mappings {
		text(m.Filename, m.BuildID)
	}
	for _, fn := range p.Functions {
		text(fn.Name, fn.SystemName, fn.Filename)
	}
	for _, l := range p.Labels {
		text(l.Key, l.Str, l.NumUnit)
	}
	lines := 0
	for i := range p.Locations {
		lines += len(p.LinesAt(i))
	}
	require.Len(t, p.Lines, lines)
	var from Sample
	for _, end := range p.Samples {
		require.GreaterOrEqual(t, end.LocationsEnd, from.LocationsEnd)
		require.GreaterOrEqual(t, end.ValuesEnd, from.ValuesEnd)
		require.GreaterOrEqual(t, end.LabelsEnd, from.LabelsEnd)
		from = end
	}
	require.Equal(t, Sample{uint32(len(p.LocationIDs)), uint32(len(p.Values)), uint32(len(p.Labels))}, from)
}

// addSeeds adds small profiles, profiles with one unusual property each, a profile that is cut after each field, and
// messages whose lengths are larger than the input.
func addSeeds(f *testing.F) {
	f.Helper()
	own := filepath.Join("..", "..", "..", "testdata", "pprof")
	names, err := filepath.Glob("testdata/edge/*.pb")
	require.NoError(f, err)
	names = append(names, filepath.Join(own, "labelled.pb.gz"), filepath.Join(own, "block.pb.gz"))
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(f, err)
		if raw, _, err := inflate.Into(nil, content, 1<<20, nil); err == nil {
			f.Add(raw)
		}
	}
	whole := oneOfEach(2).number(9, 1).packed(13, 1, 0).message(11, proto{}.number(1, 1)).number(16, 5)
	for end := 0; end < len(whole); {
		f.Add([]byte(whole[:end]))
		_, _, n := protowire.ConsumeField(whole[end:])
		require.Positive(f, n)
		end += n
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	text := proto{}.strings("", "a")
	for _, field := range []protowire.Number{1, 2, 3, 4, 5, 6, 11, 13} {
		f.Add([]byte(text.with(protowire.AppendTag(nil, field, protowire.BytesType)).raw(huge...)))
	}
	f.Add([]byte(text.with(proto{}.message(2, proto{}.message(1, bytes.Repeat([]byte{1}, 5000)).raw(2<<3|2).raw(huge...)))))
	f.Add([]byte(text.with(proto{}.message(2, bytes.Repeat(proto{}.message(3, nil), 2000)))))
	f.Add([]byte(text.with(bytes.Repeat(proto{}.message(3, nil), 2000))))
}
