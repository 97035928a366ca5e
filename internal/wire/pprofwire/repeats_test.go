// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRepeats checks which parts of samples are left out, and that the tables are equal to those of Read otherwise.
func TestRepeats(t *testing.T) {
	label := proto{}.message(3, proto{}.number(1, 1).number(2, 1))
	other := proto{}.message(3, proto{}.number(1, 1).number(3, 1<<40))
	odd := proto{}.message(3, proto{}.number(1, 1).number(9, 1)) // with an unknown field
	ids := slices.Clip(proto{}.packed(1, 7, 300, 8))             // clipped, so that append copies it
	value := proto{}.packed(2, 1<<20)
	for name, test := range map[string]struct {
		samples []proto
		want    []repeat
	}{
		"all of it":           {[]proto{ids.with(value).with(label), ids.with(value).with(label)}, []repeat{{}, {1, 1}}},
		"another value":       {[]proto{ids.with(value).with(label), ids.packed(2, 5).with(label)}, []repeat{{}, {1, 1}}},
		"no values":           {[]proto{ids.with(label), ids.with(label)}, []repeat{{}, {1, 1}}},
		"no labels":           {[]proto{ids, ids}, []repeat{{}, {1, 0}}},
		"locations only":      {[]proto{ids.with(label), ids.with(other)}, []repeat{{}, {1, 0}}},
		"labels only":         {[]proto{ids.with(label), proto{}.packed(1, 9).with(label)}, []repeat{{}, {0, 1}}},
		"of the last labels":  {[]proto{ids.with(label), ids.with(other), ids.with(label)}, []repeat{{}, {1, 0}, {1, 0}}},
		"of the first stack":  {[]proto{ids, proto{}.packed(1, 9), ids}, []repeat{{}, {}, {1, 0}}},
		"fewer labels":        {[]proto{ids.with(label).with(other), ids.with(label), ids.with(label)}, []repeat{{}, {1, 0}, {1, 2}}},
		"a prefix":            {[]proto{ids, proto{}.packed(1, 7, 300)}, []repeat{{}, {}}},
		"locations twice":     {[]proto{ids.with(ids), ids.with(ids), ids}, []repeat{{}, {}, {}}},
		"one location more":   {[]proto{ids, ids.number(1, 9), ids}, []repeat{{}, {}, {1, 0}}},
		"locations last":      {[]proto{ids.with(label), ids.with(label).with(ids), ids.with(label)}, []repeat{{}, {}, {1, 1}}},
		"a value behind":      {[]proto{ids.with(label).with(value), ids.with(label).with(value)}, []repeat{{}, {1, 0}}},
		"values by one":       {[]proto{ids.number(2, 5).with(label), ids.number(2, 5).with(label)}, []repeat{{}, {1, 0}}},
		"unknown fields":      {[]proto{ids.with(odd), ids.with(odd)}, []repeat{{}, {1, 0}}},
		"locations by one":    {[]proto{proto{}.numbers(1, 7, 8), proto{}.numbers(1, 7, 8)}, []repeat{{}, {}}},
		"no locations":        {[]proto{label, label, proto{}.packed(1), {}}, []repeat{{}, {}, {}, {}}},
		"locations are short": {[]proto{proto{}.packed(1, 7), proto{}.packed(1, 7)}, []repeat{{}, {1, 0}}},
	} {
		var m proto
		for _, sample := range test.samples {
			m = m.message(2, sample)
		}
		raw := m.strings("", "a")
		var p Profile
		require.NoError(t, p.ReadRepeats(raw, anySize), name)
		assert.Equal(t, test.want, p.Repeats, name)
		checkRepeats(t, raw)
	}
}

// TestRepeatsAreReset: neither ReadRepeats nor Read uses the remembered parts of an earlier payload.
func TestRepeatsAreReset(t *testing.T) {
	raw := proto{}.message(2, proto{}.packed(1, 7)).message(2, proto{}.packed(1, 7)).strings("")
	var p Profile
	for range 2 {
		require.NoError(t, p.ReadRepeats(raw, anySize))
		assert.Equal(t, []repeat{{}, {1, 0}}, p.Repeats)
		assert.Equal(t, []uint64{7}, p.LocationIDs)
		require.NoError(t, p.Read(raw, anySize))
		assert.Empty(t, p.Repeats)
		assert.Equal(t, []uint64{7, 7}, p.LocationIDs)
	}
}

// TestLimitsOfRepeats: limits also apply to parts that are left out.
func TestLimitsOfRepeats(t *testing.T) {
	limits := anySize
	limits.LocationsPerSample, limits.LabelsPerSample = 2, 1
	label := proto{}.message(3, proto{}.number(1, 0))
	good := proto{}.message(2, proto{}.packed(1, 7, 8).with(label))
	for name, sample := range map[string]proto{
		"locations of sample 1: 3, the limit is 2": proto{}.packed(1, 7, 8).number(1, 9),
		"labels of sample 1: 2, the limit is 1":    proto{}.packed(1, 7, 8).with(label).with(label),
	} {
		var p Profile
		err := p.ReadRepeats(good.message(2, sample).strings(""), limits)
		require.ErrorIs(t, err, ErrTooLarge)
		assert.ErrorContains(t, err, name)
	}
}

// checkRepeats compares ReadRepeats with Read. Both must return an error or none, and the tables must be equal when the
// parts that were left out are inserted again. If a payload has two faults, the errors may differ: the payload is counted
// when the first table is full, and that may be a different table.
func checkRepeats(t *testing.T, raw []byte) {
	t.Helper()
	var plain, p Profile
	wantErr, err := plain.Read(raw, anySize), p.ReadRepeats(raw, anySize)
	if wantErr != nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	checkTables(t, &p)
	require.Len(t, p.Repeats, len(p.Samples))
	var ids []uint64
	var labels []Label
	samples := copied(p.Samples)
	for i, repeat := range p.Repeats {
		own, like := partsAt(&p, i), partsAt(&p, i)
		if repeat.Locations != 0 {
			require.Empty(t, own.ids)
			like.ids = partsAt(&p, int(repeat.Locations-1)).ids
		}
		if repeat.Labels != 0 {
			require.Empty(t, own.labels)
			like.labels = partsAt(&p, int(repeat.Labels-1)).labels
		}
		ids, labels = append(ids, like.ids...), append(labels, like.labels...)
		samples[i].LocationsEnd, samples[i].LabelsEnd = uint32(len(ids)), uint32(len(labels))
	}
	got := contentOf(&p)
	got.Samples, got.LocationIDs, got.Labels = samples, ids, labels
	require.Equal(t, contentOf(&plain), got)
}

type parts struct {
	ids    []uint64
	labels []Label
}

func partsAt(p *Profile, i int) parts {
	var start Sample
	if i > 0 {
		start = p.Samples[i-1]
	}
	end := p.Samples[i]
	return parts{p.LocationIDs[start.LocationsEnd:end.LocationsEnd], p.Labels[start.LabelsEnd:end.LabelsEnd]}
}

// FuzzReadRepeats compares ReadRepeats with Read, for the payload and for the payload concatenated with itself.
//
//	go test -fuzz FuzzReadRepeats -fuzztime 1m ./internal/wire/pprofwire
func FuzzReadRepeats(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(proto{}.message(2, []byte{1}).message(4, proto{}.number(4, 0)))) // two faults
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 16<<10 {
			return // Shorter inputs reach all of the code as well.
		}
		checkRepeats(t, raw)
		checkRepeats(t, bytes.Repeat(raw, 2))
	})
}
