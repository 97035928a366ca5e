// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLimits reads payloads that reach a limit exactly, and by one more.
func TestLimits(t *testing.T) {
	ids := make([]uint64, 8)
	for name, test := range map[string]struct {
		limits Limits
		build  func(n int) proto
		at     int
		says   string
	}{
		"samples": {
			limits: Limits{Samples: 3}, at: 3, says: "samples: 4, the limit is 3",
			build: func(n int) (m proto) {
				for range n {
					m = m.message(2, nil)
				}
				return m
			},
		},
		"sample types": {
			limits: Limits{SampleTypes: 2}, at: 2, says: "sample types: 3, the limit is 2",
			build: func(n int) (m proto) {
				for range n {
					m = m.message(1, nil)
				}
				return m
			},
		},
		"packed locations": {
			limits: Limits{LocationsPerSample: 4}, at: 4, says: "locations of sample 1: 5, the limit is 4",
			build: func(n int) proto {
				return proto{}.message(2, proto{}.packed(1, ids[:4]...)).message(2, proto{}.packed(1, ids[:n]...))
			},
		},
		"unpacked locations": {
			limits: Limits{LocationsPerSample: 4}, at: 4, says: "locations of sample 0: 5, the limit is 4",
			build: func(n int) proto { return proto{}.message(2, proto{}.numbers(1, ids[:n]...)) },
		},
		"locations in several parts": {
			limits: Limits{LocationsPerSample: 4}, at: 4, says: "locations of sample 0: 5, the limit is 4",
			build: func(n int) proto {
				return proto{}.message(2, proto{}.packed(1, 7, 7).number(1, 7).packed(1, ids[:n-3]...))
			},
		},
		"labels": {
			limits: Limits{LabelsPerSample: 2}, at: 2, says: "labels of sample 1: 3, the limit is 2",
			build: func(n int) proto {
				sample := proto{}
				for range n {
					sample = sample.message(3, nil)
				}
				return proto{}.message(2, proto{}.message(3, nil).message(3, nil)).message(2, sample)
			},
		},
		"bytes of a string": {
			limits: Limits{StringBytes: 10}, at: 10, says: "bytes of string 2: 11, the limit is 10",
			build: func(n int) proto { return proto{}.strings("1234567890", string(bytes.Repeat([]byte{'a'}, n))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := anySize
			for _, limit := range []struct{ to, from *int }{
				{&limits.Samples, &test.limits.Samples},
				{&limits.SampleTypes, &test.limits.SampleTypes},
				{&limits.LocationsPerSample, &test.limits.LocationsPerSample},
				{&limits.LabelsPerSample, &test.limits.LabelsPerSample},
				{&limits.StringBytes, &test.limits.StringBytes},
			} {
				if *limit.from != 0 {
					*limit.to = *limit.from
				}
			}
			strings := proto{}.strings("")
			var p Profile
			require.NoError(t, p.Read(strings.with(test.build(test.at)), limits))
			err := p.Read(strings.with(test.build(test.at+1)), limits)
			require.ErrorIs(t, err, ErrTooLarge)
			require.NotErrorIs(t, err, ErrMalformed)
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestLimitsStopTheReading: what lies behind a limit is not put into the tables first.
func TestLimitsStopTheReading(t *testing.T) {
	limits := Limits{Samples: 10, SampleTypes: 10, LocationsPerSample: 10, LabelsPerSample: 10, StringBytes: 10}
	many := make([]uint64, 100_000)
	labels := proto{}
	for range many {
		labels = labels.message(3, nil)
	}
	samples, types := proto{}, proto{}
	for range many {
		samples, types = samples.message(2, nil), types.message(1, nil)
	}
	for name, raw := range map[string]proto{
		"locations": proto{}.message(2, proto{}.packed(1, many...)),
		"labels":    proto{}.message(2, labels),
		"samples":   samples,
		"types":     types,
	} {
		var p Profile
		require.ErrorIs(t, p.Read(raw, limits), ErrTooLarge, name)
		assert.LessOrEqual(t, len(p.LocationIDs)+len(p.Labels)+len(p.Samples)+len(p.SampleTypes), 11, name)
	}
}

// TestMemoryIsBounded fills a payload with the smallest entries of each table.
func TestMemoryIsBounded(t *testing.T) {
	repeat := func(m proto) proto { return bytes.Repeat(m, 10_000) }
	for name, raw := range map[string]proto{
		"strings":      repeat(proto{}.message(6, nil)),
		"types":        repeat(proto{}.message(1, nil)),
		"samples":      repeat(proto{}.message(2, nil)),
		"location ids": proto{}.message(2, proto{}.message(1, repeat(proto{1}))),
		"values":       proto{}.message(2, proto{}.message(2, repeat(proto{1}))),
		"labels":       proto{}.message(2, repeat(proto{}.message(3, nil))),
		"mappings":     repeat(proto{}.message(3, nil)),
		"locations":    repeat(proto{}.message(4, nil)),
		"lines":        proto{}.message(4, repeat(proto{}.message(4, nil))),
		"functions":    repeat(proto{}.message(5, nil)),
		"comments":     proto{}.message(13, repeat(proto{0})),
	} {
		raw = proto{}.strings("").with(raw)
		var p Profile
		require.NoError(t, p.Read(raw, anySize), name)
		assert.LessOrEqual(t, tableBytes(&p), largestRatio*len(raw), name)
		assert.Greater(t, tableBytes(&p), len(raw), name)
	}
}

// largestRatio is what Read promises: the tables take at most so many times the size of the payload.
const largestRatio = 24

// tableBytes is the size of what the tables hold.
func tableBytes(p *Profile) int {
	return sizeOf(p.SampleTypes) + sizeOf(p.Samples) + sizeOf(p.LocationIDs) + sizeOf(p.Values) + sizeOf(p.Labels) +
		sizeOf(p.Mappings) + sizeOf(p.Locations) + sizeOf(p.Lines) + sizeOf(p.Functions) + sizeOf(p.Comments) + sizeOf(p.strings)
}

func sizeOf[T any](s []T) int { return len(s) * int(unsafe.Sizeof(*new(T))) }

// TestReserve: a large payload is counted, so that each table is taken in one piece and with little to spare.
func TestReserve(t *testing.T) {
	sample := proto{}.message(2, proto{}.message(1, []byte{1, 2, 0x80, 1}).number(1, 3).message(2, []byte{7}).number(2, 300).
		message(3, proto{}.number(1, 1)).number(99, 5))
	location := proto{}.message(4, proto{}.number(1, 1).message(4, proto{}.number(1, 1)).message(4, proto{}.number(1, 1)))
	one := sample.with(sample).with(location).message(5, proto{}.number(1, 1)).message(6, []byte("text")).number(12, 300)
	for len(one) < reserveAbove {
		one = append(one, one...)
	}
	raw := proto{}.strings("").with(one)
	var p Profile
	require.NoError(t, p.Read(raw, anySize))
	assert.True(t, p.reserved)
	for name, table := range map[string][2]int{
		"samples":      {len(p.Samples), cap(p.Samples)},
		"location ids": {len(p.LocationIDs), cap(p.LocationIDs)},
		"values":       {len(p.Values), cap(p.Values)},
		"labels":       {len(p.Labels), cap(p.Labels)},
		"locations":    {len(p.Locations), cap(p.Locations)},
		"lines":        {len(p.Lines), cap(p.Lines)},
		"functions":    {len(p.Functions), cap(p.Functions)},
		"strings":      {len(p.strings), cap(p.strings)},
	} {
		assert.Greater(t, table[0], 1000, name)
		assert.LessOrEqual(t, table[1], table[0]+table[0]/16, name)
	}

	p.Reset()
	assert.False(t, p.reserved)
	few := anySize
	few.Samples = 10
	var bounded Profile
	require.ErrorIs(t, bounded.Read(raw, few), ErrTooLarge)
	assert.LessOrEqual(t, cap(bounded.LocationIDs), 100, "what is refused anyway takes no room")
}
