// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// TestWrittenForGooglePprof: a profile that google/pprof wrote is the same for google/pprof after we have read and written it.
func TestWrittenForGooglePprof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rewritten(t, gen.Pprof().Draw(t, "pprof"))
		want, err := profile.ParseUncompressed(raw)
		require.NoError(t, err)
		tables := numbered(read(t, raw))
		got, err := profile.ParseUncompressed(written(&tables.Profile, tables.Strings))
		require.NoError(t, err)
		require.NoError(t, got.CheckValid())
		require.Equal(t, rewritten(t, numberedGraph(want)), rewritten(t, got))
	})
}

// TestWrittenBytes compares with bytes from protowire: repeated numbers are packed, and zero values are left out.
func TestWrittenBytes(t *testing.T) {
	long := make([]int64, 300)
	longPacked := make([]uint64, len(long))
	for i := range long {
		long[i], longPacked[i] = int64(i), uint64(i)
	}
	for name, test := range map[string]struct {
		got  []byte
		want proto
	}{
		"sample type":       {AppendSampleType(nil, ValueType{1, 300}), proto{}.message(1, proto{}.number(1, 1).number(2, 300))},
		"empty sample type": {AppendSampleType(nil, ValueType{}), proto{}.message(1, nil)},
		"period type":       {AppendPeriodType(nil, ValueType{Unit: 2}), proto{}.message(11, proto{}.number(2, 2))},
		"sample": {
			AppendSample(nil, AppendID(AppendID(nil, 127), math.MaxUint32), []int64{0, -1}, AppendLabel(nil, Label{Key: 1, Str: 2})),
			proto{}.message(2, proto{}.packed(1, 127, math.MaxUint32).packed(2, 0, math.MaxUint64).
				message(3, proto{}.number(1, 1).number(2, 2))),
		},
		"empty sample": {AppendSample(nil, nil, nil, nil), proto{}.message(2, nil)},
		"long sample":  {AppendSample(nil, nil, long, nil), proto{}.message(2, proto{}.packed(2, longPacked...))},
		"label":        {AppendLabel(nil, Label{Key: 1, Num: -5, NumUnit: 3}), proto{}.message(3, proto{}.number(1, 1).number(3, 1<<64-5).number(4, 3))},
		"mapping": {
			AppendMapping(nil, Mapping{ID: 1, Start: 1 << 63, Limit: 1<<64 - 1, HasFilenames: true}),
			proto{}.message(3, proto{}.number(1, 1).number(2, 1<<63).number(3, 1<<64-1).number(8, 1)),
		},
		"location": {
			AppendLocation(nil, Location{ID: 300, LinesEnd: 99, IsFolded: true}, []Line{{}, {FunctionID: 1, Line: -1, Column: 2}}),
			proto{}.message(4, proto{}.number(1, 300).message(4, nil).
				message(4, proto{}.number(1, 1).number(2, 1<<64-1).number(3, 2)).number(5, 1)),
		},
		"long location": {
			AppendLocation(nil, Location{ID: 1}, make([]Line, 10_000)),
			proto{}.message(4, proto{}.number(1, 1).with(bytes.Repeat(proto{}.message(4, nil), 10_000))),
		},
		"function": {AppendFunction(nil, Function{ID: 1, Filename: 2}), proto{}.message(5, proto{}.number(1, 1).number(4, 2))},
		"string":   {AppendString(AppendString(nil, ""), "é"), proto{}.strings("", "é")},
		"header": {
			AppendHeader(nil, Header{TimeNanos: 5, Comments: []uint32{0, 300}, DocURL: 1}),
			proto{}.number(9, 5).packed(13, 0, 300).number(15, 1),
		},
		"empty header": {AppendHeader(nil, Header{}), nil},
	} {
		assert.Equal(t, []byte(test.want), test.got, name)
	}
}

// TestLengths writes messages with sizes around those at which the length needs one more byte.
func TestLengths(t *testing.T) {
	for _, n := range []int{0, 1, 124, 125, 126, 127, 128, 129, 16380, 16381, 16382, 16383, 16384, 16385, 2097151, 2097152} {
		labels := make([]byte, n)
		got := AppendSample([]byte("before"), nil, nil, labels)
		assert.Equal(t, []byte(proto("before").message(2, labels)), got, n)
	}
}

// numbered numbers the locations from 1, as in the profiles that we write.
func numbered(c content) content {
	ids := map[uint64]uint64{}
	for i := range c.Locations {
		id := uint64(i + 1)
		ids[c.Locations[i].ID], c.Locations[i].ID = id, id
	}
	for i, id := range c.LocationIDs {
		c.LocationIDs[i] = ids[id]
	}
	return c
}

func numberedGraph(p *profile.Profile) *profile.Profile {
	for i, l := range p.Location {
		l.ID = uint64(i + 1)
	}
	return p
}

// written writes all tables.
func written(p *Profile, strings []string) []byte {
	var raw []byte
	for _, v := range p.SampleTypes {
		raw = AppendSampleType(raw, v)
	}
	var from Sample
	for _, end := range p.Samples {
		var ids, labels []byte
		for _, id := range p.LocationIDs[from.LocationsEnd:end.LocationsEnd] {
			ids = AppendID(ids, uint32(id))
		}
		for _, l := range p.Labels[from.LabelsEnd:end.LabelsEnd] {
			labels = AppendLabel(labels, l)
		}
		raw = AppendSample(raw, ids, p.Values[from.ValuesEnd:end.ValuesEnd], labels)
		from = end
	}
	for _, m := range p.Mappings {
		raw = AppendMapping(raw, m)
	}
	for i, l := range p.Locations {
		raw = AppendLocation(raw, l, p.LinesAt(i))
	}
	for _, f := range p.Functions {
		raw = AppendFunction(raw, f)
	}
	if p.HasPeriodType {
		raw = AppendPeriodType(raw, p.PeriodType)
	}
	raw = AppendHeader(raw, Header{
		DropFrames: p.DropFrames, KeepFrames: p.KeepFrames, TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
		Period: p.Period, Comments: p.Comments, DefaultSampleType: p.DefaultSampleType, DocURL: p.DocURL,
	})
	for _, s := range strings {
		raw = AppendString(raw, s)
	}
	return raw
}
