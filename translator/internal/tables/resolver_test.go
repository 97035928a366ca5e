// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// newProfile returns a profile with two samples. The first one has the locations a and b, the second one only b. Location a
// has a line of function f. Location b has two lines: one of function g, and one without a function.
func newProfile(a, b, f, g uint64) *pprofwire.Profile {
	return &pprofwire.Profile{
		Functions:   []pprofwire.Function{{ID: f, Name: 1}, {ID: g, Name: 2}},
		Lines:       []pprofwire.Line{{FunctionID: f, Line: 1}, {FunctionID: g, Line: 2}, {Line: 3}},
		Locations:   []pprofwire.Location{{ID: a, LinesEnd: 1}, {ID: b, LinesEnd: 3}, {ID: 77, LinesEnd: 3}},
		Mappings:    []pprofwire.Mapping{{ID: 9}},
		LocationIDs: []uint64{a, b, b},
		Samples:     []pprofwire.Sample{{LocationsEnd: 2}, {LocationsEnd: 3}},
	}
}

func TestResolve(t *testing.T) {
	var r resolver // The same for all payloads: none may be affected by the one before.
	for _, test := range []struct {
		name       string
		a, b, f, g uint64
	}{
		{"dense", 1, 2, 1, 2},
		{"backwards", 2, 1, 2, 1},
		{"with gaps", 20, 3, 7, 50},
		{"hashes", math.MaxUint64, 1 << 40, math.MaxUint64 - 1, 1 << 63},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProfile(test.a, test.b, test.f, test.g)
			repeated, err := r.resolve(p)
			require.NoError(t, err)
			assert.Zero(t, repeated)
			assert.Equal(t, []uint64{0, 1, 1}, p.LocationIDs)
			assert.Equal(t, []bool{true, true, false}, r.reached)
			for i := range p.Functions {
				position, found := r.functions.find(p.Functions[i].ID)
				assert.True(t, found)
				assert.Equal(t, i, position)
			}
			for _, absent := range []uint64{0, 3, 51, 1 << 41} {
				if absent != test.a && absent != test.b {
					_, found := r.locations.find(absent)
					assert.False(t, found, absent)
				}
			}
			_, found := r.mappings.find(9)
			assert.True(t, found)
		})
	}
}

func TestResolveAcceptsRepeatedEntries(t *testing.T) {
	p := newProfile(1, 2, 1, 2)
	p.Functions = append(p.Functions, p.Functions[1])
	p.Mappings = append(p.Mappings, p.Mappings[0])
	p.Lines = append(p.Lines, p.Lines[1:3]...)
	p.Locations = append(p.Locations, pprofwire.Location{ID: 2, LinesEnd: 5})
	var r resolver
	repeated, err := r.resolve(p)
	require.NoError(t, err)
	assert.Equal(t, 3, repeated)
	assert.Equal(t, []uint64{0, 1, 1}, p.LocationIDs)
}

func TestResolveRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(p *pprofwire.Profile)
		want string
	}{
		{"a location that does not exist", func(p *pprofwire.Profile) { p.LocationIDs[2] = 5 }, "malformed pprof: sample 1: location id 5 does not exist"},
		{"location 0", func(p *pprofwire.Profile) { p.LocationIDs[0] = 0 }, "malformed pprof: sample 0: location id 0 does not exist"},
		{"a function that does not exist", func(p *pprofwire.Profile) { p.Lines[1].FunctionID = 6 }, "malformed pprof: location 1: function id 6 does not exist"},
		{"one id for two functions", func(p *pprofwire.Profile) { p.Functions[1].ID = p.Functions[0].ID }, "belongs to function 0, which has other content"},
		{"one id for two locations", func(p *pprofwire.Profile) { p.Locations[2].ID = p.Locations[0].ID }, "belongs to location 0, which has other content"},
	} {
		for _, ids := range [][4]uint64{{1, 2, 1, 2}, {300, 200, 1 << 50, 4}} {
			p := newProfile(ids[0], ids[1], ids[2], ids[3])
			test.harm(p)
			_, err := new(resolver).resolve(p)
			require.ErrorContains(t, err, test.want, test.name)
			require.ErrorIs(t, err, pprofwire.ErrMalformed, test.name)
		}
	}
}
