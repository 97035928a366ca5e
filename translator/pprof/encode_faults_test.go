// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestBrokenProfiles makes one of three profiles invalid. It is reported, and the others are encoded, in its group or
// not.
func TestBrokenProfiles(t *testing.T) {
	const out = 999
	type parts struct {
		profile pprofile.Profile
		sample  pprofile.Sample
		dict    pprofile.ProfilesDictionary
	}
	for name, test := range map[string]struct {
		breakIt func(parts)
		says    []string
	}{
		"sample type":       {func(p parts) { p.profile.SampleType().SetTypeStrindex(out) }, []string{"index 999 of the string table", "entries"}},
		"unit":              {func(p parts) { p.profile.SampleType().SetUnitStrindex(-1) }, []string{"index -1 of the string table"}},
		"period type":       {func(p parts) { p.profile.PeriodType().SetTypeStrindex(out) }, []string{"index 999 of the string table"}},
		"profile attribute": {func(p parts) { p.profile.AttributeIndices().Append(out) }, []string{"index 999 of the attribute table"}},
		"stack":             {func(p parts) { p.sample.SetStackIndex(out) }, []string{"sample 1", "index 999 of the stack table"}},
		"negative":          {func(p parts) { p.sample.SetStackIndex(-1) }, []string{"sample 1", "index -1 of the stack table"}},
		"link":              {func(p parts) { p.sample.SetLinkIndex(out) }, []string{"sample 1", "index 999 of the link table", "1 entries"}},
		"attribute":         {func(p parts) { p.sample.AttributeIndices().Append(out) }, []string{"sample 1", "index 999 of the attribute table"}},
		"attribute key": {func(p parts) {
			p.sample.AttributeIndices().Append(own(p.dict.AttributeTable()).with(func(kv pprofile.KeyValueAndUnit) { kv.SetKeyStrindex(out) }))
		}, []string{"sample 1", "index 999 of the string table"}},
		"attribute unit": {func(p parts) {
			p.sample.AttributeIndices().Append(own(p.dict.AttributeTable()).with(func(kv pprofile.KeyValueAndUnit) { kv.SetUnitStrindex(out) }))
		}, []string{"sample 1", "index 999 of the string table"}},
		"location": {func(p parts) { stackOf(p.dict, p.sample, out) }, []string{"sample 1", "stack 3", "index 999 of the location table"}},
		"mapping": {func(p parts) {
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.SetMappingIndex(out) }))
		}, []string{"location 4", "index 999 of the mapping table", "1 entries"}},
		"function": {func(p parts) {
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.Lines().AppendEmpty().SetFunctionIndex(out) }))
		}, []string{"location 4", "index 999 of the function table"}},
		"location attribute": {func(p parts) {
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.AttributeIndices().Append(out) }))
		}, []string{"location 4", "index 999 of the attribute table"}},
		"function name": {func(p parts) {
			f := own(p.dict.FunctionTable()).with(func(f pprofile.Function) { f.SetFilenameStrindex(out) })
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.Lines().AppendEmpty().SetFunctionIndex(f) }))
		}, []string{"location 4", "function 4", "index 999 of the string table"}},
		"mapping file": {func(p parts) {
			m := own(p.dict.MappingTable()).with(func(m pprofile.Mapping) { m.SetFilenameStrindex(out) })
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.SetMappingIndex(m) }))
		}, []string{"location 4", "mapping 1", "index 999 of the string table"}},
		"mapping attribute": {func(p parts) {
			m := own(p.dict.MappingTable()).with(func(m pprofile.Mapping) { m.AttributeIndices().Append(out) })
			stackOf(p.dict, p.sample, own(p.dict.LocationTable()).with(func(l pprofile.Location) { l.SetMappingIndex(m) }))
		}, []string{"location 4", "mapping 1", "index 999 of the attribute table"}},
		"unequal lengths": {func(p parts) {
			p.sample.Values().FromRaw([]int64{1, 2})
			p.sample.TimestampsUnixNano().FromRaw([]uint64{1, 2, 3})
		}, []string{"sample 1", "2 values and 3 timestamps"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			var broken parts
			for i := range 4 {
				p := m.profile(fmt.Sprintf("%c/1", 'a'+i))
				p.SetProfileID(pprofile.ProfileID{byte(i + 1)})
				m.sample(p, m.stack("f", "g"), []int64{1})
				s := m.sample(p, m.stack("h"), []int64{2})
				if i == 1 {
					broken.profile, broken.sample = p, s
				}
				if i == 3 {
					p.SetTime(5)
				}
			}
			pd := m.done()
			broken.dict = pd.Dictionary()
			test.breakIt(broken)
			all, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{})
			require.Len(t, faults, 1)
			assert.Equal(t, [3]int{0, 0, 1}, [3]int{faults[0].Resource, faults[0].Scope, faults[0].Profile})
			assert.Equal(t, pprofile.ProfileID{2}, faults[0].ProfileID)
			assert.ErrorContains(t, faults[0], "cannot write profile 1 of scope 0 of resource 0 as pprof: ")
			for _, s := range test.says {
				assert.ErrorContains(t, faults[0].Unwrap(), s)
			}
			require.Len(t, all, 2)
			assert.Equal(t, []string{"c/1", "a/1"}, all[0].types())
			assert.Equal(t, []string{"f;g [1 1]", "h [2 2]"}, all[0].samples())
			assert.Equal(t, []int{0, 2}, all[0].Positions)
			assert.Equal(t, []string{"d/1"}, all[1].types())
		})
	}
}

// table has the methods that all tables of a dictionary, except the strings, share.
type table[T any] interface {
	Len() int
	AppendEmpty() T
}

type newEntry[T any] struct{ table table[T] }

// own(t).with(fill) adds an entry that only one profile uses, and returns its index.
func own[T any](of table[T]) newEntry[T] { return newEntry[T]{of} }

func (e newEntry[T]) with(fill func(T)) int32 {
	fill(e.table.AppendEmpty())
	return int32(e.table.Len() - 1)
}

// stackOf gives a sample its own stack with one location.
func stackOf(dict pprofile.ProfilesDictionary, s pprofile.Sample, location int32) {
	s.SetStackIndex(own(dict.StackTable()).with(func(s pprofile.Stack) { s.LocationIndices().Append(location) }))
}

// TestBrokenEntriesThatNothingReaches: invalid entries that nothing refers to are ignored.
func TestBrokenEntriesThatNothingReaches(t *testing.T) {
	m := newMessage()
	m.sample(m.profile("a/1"), m.stack("f"), []int64{1})
	pd := m.done()
	stack := pd.Dictionary().StackTable().AppendEmpty()
	stack.LocationIndices().Append(-1)
	pd.Dictionary().LocationTable().AppendEmpty().SetMappingIndex(999)
	assert.Equal(t, []string{"f [1]"}, encode(t, pd, pprof.EncodeOptions{})[0].samples())
}

// TestAllProfilesBroken: nothing is written, not even an empty pprof.
func TestAllProfilesBroken(t *testing.T) {
	m := newMessage()
	for i, sampleType := range []string{"a/1", "b/2", "c/3"} {
		s := m.sample(m.profile(sampleType), 0, []int64{1})
		if i < 2 {
			s.SetStackIndex(9)
		} else {
			s.SetLinkIndex(9)
		}
	}
	m.sample(m.profileIn(m.addResource("cart"), "a/1"), 0, []int64{1})
	pd := m.done()
	pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(1).SampleType().SetTypeStrindex(99)
	all, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{})
	require.Len(t, faults, 3)
	positions := map[int]bool{}
	for _, f := range faults {
		positions[f.Profile] = true
	}
	assert.Len(t, positions, 3, "each is named once")
	require.Len(t, all, 1)
	assert.Equal(t, 1, all[0].ResourceIndex)
}

// TestEmptyMessages: an empty message gives no pprof. A profile without samples gives a pprof without samples.
func TestEmptyMessages(t *testing.T) {
	assert.Empty(t, encode(t, pprofile.NewProfiles(), pprof.EncodeOptions{}))
	pd := pprofile.NewProfiles()
	pd.ResourceProfiles().AppendEmpty()
	pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	assert.Empty(t, encode(t, pd, pprof.EncodeOptions{}))
	m := newMessage()
	m.profile("a/1")
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	assert.Equal(t, []string{"a/1"}, all[0].types())
	assert.Zero(t, all[0].Samples)
}

// TestDeepValues: a value that is nested too deep is an error of its profile, or of all profiles in its scope or
// resource. A thousandth of this depth would overflow the stack.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	for _, place := range profiletest.DeepPlaces() {
		t.Run(place, func(t *testing.T) {
			message := func(levels int) pprofile.Profiles {
				m := newMessage()
				m.sample(m.profile("a/1"), m.stack("f", "g"), []int64{1})
				pd := m.done()
				pd.ResourceProfiles().At(0).CopyTo(pd.ResourceProfiles().AppendEmpty())
				profiletest.Deepen(pd, place, levels)
				return pd
			}
			encode := func(pd pprofile.Profiles) (payloads int, faults []*pprof.ProfileError) {
				for _, err := range pprof.NewEncoder(pprof.EncodeOptions{ResourceComments: true}).All(pd) {
					if fault, found := errors.AsType[*pprof.ProfileError](err); found {
						faults = append(faults, fault)
					} else {
						payloads++
					}
				}
				return payloads, faults
			}
			payloads, faults := encode(message(1_000_000))
			assert.Equal(t, 1, payloads)
			require.Len(t, faults, 1)
			assert.Equal(t, [3]int{}, [3]int{faults[0].Resource, faults[0].Scope, faults[0].Profile})
			require.ErrorContains(t, faults[0], `attribute "deep" is too deep: at least 33 lists or maps within one another, the limit is 32`)

			payloads, faults = encode(message(attributevalue.MaxDepth))
			assert.Equal(t, 2, payloads)
			assert.Empty(t, faults)
		})
	}
}
