// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// of returns the profileID of a profile.
func of(tenant string, id byte, typ, unit string) (profileID, bool) {
	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().FromRaw([]string{"", unit, typ})
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{id})
	p.SampleType().SetTypeStrindex(2)
	p.SampleType().SetUnitStrindex(1)
	return newIDNamer(tenant, pd.Dictionary().StringTable()).of(p)
}

func TestIDs(t *testing.T) {
	base, ok := of("tenant", 1, "cpu", "nanoseconds")
	assert.True(t, ok)
	again, _ := of("tenant", 1, "cpu", "nanoseconds")
	assert.Equal(t, base, again)
	seen := map[profileID]bool{base: true}
	for _, other := range []struct {
		tenant    string
		profile   byte
		typ, unit string
	}{
		{"other", 1, "cpu", "nanoseconds"},
		{"tenant", 2, "cpu", "nanoseconds"},
		{"tenant", 1, "samples", "nanoseconds"},
		{"tenant", 1, "cpu", "count"},
		{"tenant", 1, "cpun", "anoseconds"},
		{"tenantc", 1, "pu", "nanoseconds"},
		{strings.Repeat("x", 1000), 1, "cpu", "nanoseconds"},
		{strings.Repeat("x", 1001), 1, "cpu", "nanoseconds"},
		{"tenant", 1, strings.Repeat("x", 1000), "nanoseconds"},
		{"tenant", 1, strings.Repeat("x", 999) + "y", "nanoseconds"},
		{"tenant", 1, "cpu", strings.Repeat("x", 1000)},
	} {
		id, ok := of(other.tenant, other.profile, other.typ, other.unit)
		assert.True(t, ok)
		assert.False(t, seen[id], other)
		seen[id] = true
	}
}

func TestNoProfileIDNoID(t *testing.T) {
	_, ok := of("tenant", 0, "cpu", "nanoseconds")
	assert.False(t, ok)
}

func TestIndicesOutOfRange(t *testing.T) {
	pd := pprofile.NewProfiles()
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{1})
	p.SampleType().SetTypeStrindex(-1)
	p.SampleType().SetUnitStrindex(1 << 30)
	_, ok := newIDNamer("", pd.Dictionary().StringTable()).of(p)
	assert.True(t, ok)
}

// A long name that many profiles share is hashed only once. Otherwise this test would hash a quarter of a terabyte and not
// finish.
func TestLongNamesAreReadOnce(t *testing.T) {
	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().FromRaw([]string{"", strings.Repeat("x", 1<<20)})
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SampleType().SetTypeStrindex(1)
	namer := newIDNamer(strings.Repeat("t", 1<<20), pd.Dictionary().StringTable())
	seen := map[profileID]bool{}
	const n = 250_000
	for i := range n {
		p.SetProfileID(pprofile.ProfileID{1, byte(i), byte(i >> 8), byte(i >> 16)})
		id, _ := namer.of(p)
		seen[id] = true
	}
	assert.Len(t, seen, n)
}
