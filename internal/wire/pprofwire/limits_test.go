// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// TestLimits reads payloads that reach a limit exactly, and payloads that exceed it by one.
func TestLimits(t *testing.T) {
	ids := make([]uint64, 8)
	for name, test := range map[string]struct {
		limit func(*Limits)
		build func(n int) proto
		at    int
		says  string
	}{
		"samples": {
			limit: func(l *Limits) { l.Samples = 3 }, at: 3, says: "samples: 4, the limit is 3",
			build: func(n int) (m proto) {
				for range n {
					m = m.message(2, nil)
				}
				return m
			},
		},
		"sample types": {
			limit: func(l *Limits) { l.SampleTypes = 2 }, at: 2, says: "sample types: 3, the limit is 2",
			build: func(n int) (m proto) {
				for range n {
					m = m.message(1, nil)
				}
				return m
			},
		},
		"packed locations": {
			limit: func(l *Limits) { l.LocationsPerSample = 4 }, at: 4, says: "locations of sample 1: 5, the limit is 4",
			build: func(n int) proto {
				return proto{}.message(2, proto{}.packed(1, ids[:4]...)).message(2, proto{}.packed(1, ids[:n]...))
			},
		},
		"unpacked locations": {
			limit: func(l *Limits) { l.LocationsPerSample = 4 }, at: 4, says: "locations of sample 0: 5, the limit is 4",
			build: func(n int) proto { return proto{}.message(2, proto{}.numbers(1, ids[:n]...)) },
		},
		"locations in several parts": {
			limit: func(l *Limits) { l.LocationsPerSample = 4 }, at: 4, says: "locations of sample 0: 5, the limit is 4",
			build: func(n int) proto {
				return proto{}.message(2, proto{}.packed(1, 7, 7).number(1, 7).packed(1, ids[:n-3]...))
			},
		},
		"labels": {
			limit: func(l *Limits) { l.LabelsPerSample = 2 }, at: 2, says: "labels of sample 1: 3, the limit is 2",
			build: func(n int) proto {
				sample := proto{}
				for range n {
					sample = sample.message(3, nil)
				}
				return proto{}.message(2, proto{}.message(3, nil).message(3, nil)).message(2, sample)
			},
		},
		"lines of one location": {
			limit: func(l *Limits) { l.LinesPerLocation = 2 }, at: 2, says: "lines of location 1: 3, the limit is 2",
			build: func(n int) proto {
				two := proto{}.number(1, 1).message(4, nil).message(4, nil)
				return proto{}.message(4, two).message(4, proto{}.number(1, 1).with(bytes.Repeat(proto{}.message(4, nil), n)))
			},
		},
		"bytes of a string": {
			limit: func(l *Limits) { l.StringBytes = 10 }, at: 10, says: "bytes of string 2: 11, the limit is 10",
			build: func(n int) proto { return proto{}.strings("1234567890", string(bytes.Repeat([]byte{'a'}, n))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := anySize
			test.limit(&limits)
			strings := proto{}.strings("")
			var p, roomy Profile
			require.NoError(t, p.Read(strings.with(test.build(test.at)), limits))
			above := strings.with(test.build(test.at + 1))
			require.NoError(t, roomy.Read(above.with(above[2:]), anySize))
			for _, p := range []*Profile{&p, &roomy} {
				err := p.Read(above, limits)
				require.ErrorIs(t, err, ErrTooLarge)
				require.NotErrorIs(t, err, ErrMalformed)
				require.ErrorContains(t, err, test.says)
			}
		})
	}
}

// TestLimitsStopTheReading: a limit is checked before the entries are put into the tables.
func TestLimitsStopTheReading(t *testing.T) {
	limits := limitsOf(counts{sampleTypes: 10, samples: 10})
	limits.LocationsPerSample, limits.LinesPerLocation, limits.LabelsPerSample = 10, 10, 10
	many := make([]uint64, 100_000)
	labels := proto{}
	for range many {
		labels = labels.message(3, nil)
	}
	samples, types, lines := proto{}, proto{}, proto{}.number(1, 1)
	for range many {
		samples, types, lines = samples.message(2, nil), types.message(1, nil), lines.message(4, nil)
	}
	for name, raw := range map[string]proto{
		"locations": proto{}.message(2, proto{}.packed(1, many...)),
		"labels":    proto{}.message(2, labels),
		"samples":   samples,
		"types":     types,
		"lines":     proto{}.message(4, lines),
	} {
		var p Profile
		require.ErrorIs(t, p.Read(raw, limits), ErrTooLarge, name)
		assert.Zero(t, p.Kept(), name)
	}
}

// largestRatio is the ratio that Read promises: the tables need at most this many times the size of the payload.
const largestRatio = 24

// TestZeroIDs: an entry without an id is an error.
func TestZeroIDs(t *testing.T) {
	good := proto{}.strings("").message(3, proto{}.number(1, 1)).message(4, proto{}.number(1, 300)).message(5, proto{}.number(2, 0).number(1, 1))
	var roomy Profile
	require.NoError(t, roomy.Read(good.with(good), anySize))
	for field, name := range map[protowire.Number]string{3: "mapping", 4: "location", 5: "function"} {
		for _, entry := range []proto{nil, proto{}.number(1, 0), proto{}.number(2, 1), proto{}.number(99, 1), {8, 0x80, 0}} {
			raw := good.message(field, entry)
			want := fmt.Sprintf("malformed pprof: %s 1 has id 0, which is reserved", name)
			var p Profile
			require.EqualError(t, p.Read(raw, anySize), want)
			require.EqualError(t, roomy.Read(raw, anySize), want)
		}
	}
}

// TestTablesAreAllocatedOnce: the payload is counted, the memory is reserved, and then each table is allocated once, in its
// exact size.
func TestTablesAreAllocatedOnce(t *testing.T) {
	sample := proto{}.message(2, proto{}.message(1, []byte{1, 2, 0x80, 1}).number(1, 3).message(2, []byte{7}).number(2, 300).
		message(3, proto{}.number(1, 1)).number(99, 5))
	location := proto{}.message(4, proto{}.number(1, 1).message(4, proto{}.number(1, 1)).message(4, proto{}.number(1, 1)))
	one := sample.with(sample).with(location).message(5, proto{}.number(1, 1)).message(6, []byte("text")).number(12, 300).
		message(3, proto{}.number(1, 1)).packed(13, 1, 1).message(1, nil)
	raw := proto{}.strings("").with(bytes.Repeat(one, 1000))
	var p Profile
	var asked []int64
	limits := anySize
	limits.Memory = meter.New(0, func(bytes int64) error {
		assert.Zero(t, p.Kept(), "before it is taken")
		asked = append(asked, bytes)
		return nil
	})
	require.NoError(t, p.Read(raw, limits))
	require.Len(t, asked, 1)
	assert.GreaterOrEqual(t, asked[0], p.Bytes())
	assert.Equal(t, p.Bytes(), p.Kept())
	assert.Len(t, p.Lines, 2000)

	none := errors.New("none left")
	limits.Memory = meter.New(0, func(int64) error { return none })
	require.NoError(t, p.Read(raw, limits), "there is room already")
	p = Profile{}
	require.ErrorIs(t, p.Read(raw, limits), none)
	assert.Zero(t, p.Kept())
}
