// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// group groups a message, and reports whether it changed.
func group(pd pprofile.Profiles, keys ...string) bool {
	plan := dedup.PlanGroups(pd, keys)
	if plan == nil {
		return false
	}
	plan.Apply()
	return true
}

// flatSamples writes out each sample with its resource and profile. Scalar attributes with one of the keys count as attributes
// of the resource, wherever they are.
func flatSamples(pd pprofile.Profiles, keys []string) (flat []string) {
	d := pd.Dictionary()
	for _, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					of, own := pcommon.NewMap(), map[string]bool{}
					resource.Resource().Attributes().CopyTo(of)
					for _, i := range sample.AttributeIndices().All() {
						a := d.AttributeTable().At(int(i))
						key := d.StringTable().At(int(a.KeyStrindex()))
						switch kind := a.Value().Type(); {
						case slices.Contains(keys, key) && kind != pcommon.ValueTypeMap && kind != pcommon.ValueTypeSlice &&
							kind != pcommon.ValueTypeBytes && kind != pcommon.ValueTypeEmpty:
							a.Value().CopyTo(of.PutEmpty(key))
						default:
							own[fmt.Sprint(key, "=", value(a.Value()), a.UnitStrindex())] = true
						}
					}
					all := pcommon.NewValueMap()
					of.CopyTo(all.Map())
					flat = append(flat, fmt.Sprint(value(all), scope.Scope().Name(), profile.SampleType().TypeStrindex(), profile.Time(),
						profile.DurationNano(), profile.Period(), profile.AttributeIndices().AsRaw(), slices.Sorted(maps.Keys(own)),
						sample.StackIndex(), sample.LinkIndex(), sample.Values().AsRaw(), sample.TimestampsUnixNano().AsRaw()))
				}
			}
		}
	}
	slices.Sort(flat)
	return flat
}

// value writes maps with sorted keys, and one form for all zeros and one for all NaNs.
func value(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		var pairs []string
		for key, item := range v.Map().All() {
			pairs = append(pairs, fmt.Sprintf("%q:%s", key, value(item)))
		}
		slices.Sort(pairs)
		return "{" + strings.Join(pairs, ",") + "}"
	case pcommon.ValueTypeSlice:
		var items []string
		for _, item := range v.Slice().All() {
			items = append(items, value(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case pcommon.ValueTypeDouble:
		return fmt.Sprintf("double %v", v.Double()+0)
	default:
		return fmt.Sprintf("%v %q", v.Type(), v.AsString())
	}
}

// For any message, no sample is lost or changed, and each is in a resource with its attributes.
func TestGroupKeepsSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		texts := slices.DeleteFunc(pd.Dictionary().StringTable().AsRaw(), func(s string) bool { return s == "" })
		texts = append(texts, "a key that no message has")
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 0, 3, rapid.ID[string]).Draw(t, "keys")
		want, ids := flatSamples(pd, keys), idsOf(pd)
		grouped := group(pd, keys...)
		require.Equal(t, want, flatSamples(pd, keys))
		require.False(t, group(clone(pd), keys...), "nothing is left to be grouped")
		if !grouped {
			require.Equal(t, ids, idsOf(pd))
		}
		after, stats := deduplicate(t, pd)
		assert.Zero(t, stats.Invalid)
		requireCanonical(t, after)
	})
}

func idsOf(pd pprofile.Profiles) (ids []pprofile.ProfileID) {
	for profile := range walk.Profiles(pd) {
		ids = append(ids, profile.ProfileID())
	}
	return ids
}

// processes makes a profile with a sample for each of these processes. "" means no process.
func processes(names ...string) pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for i := range names {
			sample(1).Values().Append(int64(1) << i)
		}
	})
	d := pd.Dictionary()
	d.StringTable().Append("process.executable.name")
	key := int32(d.StringTable().Len() - 1)
	resource := pd.ResourceProfiles().At(0)
	resource.Resource().Attributes().PutStr("host.name", "node-1")
	resource.ScopeProfiles().At(0).Scope().SetName("profiler")
	profile := resource.ScopeProfiles().At(0).Profiles().At(0)
	profile.SetProfileID(pprofile.ProfileID{1})
	for i, name := range names {
		if name == "" {
			continue
		}
		// Each sample has its own attribute entry, also if another has the same value.
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(key)
		a.Value().SetStr(name)
		profile.Samples().At(i).AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	}
	return pd
}

// sums returns the sum of the values by the process of the resource, and checks the rest of the message.
func sums(t *testing.T, pd pprofile.Profiles) map[string]int64 {
	t.Helper()
	result := map[string]int64{}
	for _, resource := range pd.ResourceProfiles().All() {
		attributes := resource.Resource().Attributes().AsRaw()
		assert.Equal(t, "node-1", attributes["host.name"])
		require.Equal(t, 1, resource.ScopeProfiles().Len())
		assert.Equal(t, "profiler", resource.ScopeProfiles().At(0).Scope().Name())
		require.Equal(t, 1, resource.ScopeProfiles().At(0).Profiles().Len())
		profile := resource.ScopeProfiles().At(0).Profiles().At(0)
		assert.EqualValues(t, 100, profile.Time())
		name, _ := attributes["process.executable.name"].(string)
		assert.NotContains(t, result, name)
		for _, sample := range profile.Samples().All() {
			result[name] += sample.Values().At(0)
			assert.Equal(t, 2, sample.AttributeIndices().Len(), "the other attributes stay")
		}
	}
	return result
}

func TestGroup(t *testing.T) {
	for name, test := range map[string]struct {
		processes []string
		want      map[string]int64
		keepsID   bool
	}{
		"several":       {[]string{"java", "node", "java", ""}, map[string]int64{"java": 5, "node": 2, "": 8}, false},
		"one":           {[]string{"java", "java"}, map[string]int64{"java": 3}, true},
		"none":          {[]string{"", ""}, map[string]int64{"": 3}, true},
		"one, and none": {[]string{"", "java"}, map[string]int64{"": 1, "java": 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pd := processes(test.processes...)
			group(pd, "process.executable.name", "service.name")
			assert.Equal(t, test.want, sums(t, pd))
			ids := idsOf(pd)
			assert.Len(t, ids, len(test.want))
			assert.Len(t, slices.Compact(slices.SortedFunc(slices.Values(ids), func(a, b pprofile.ProfileID) int { return slices.Compare(a[:], b[:]) })), len(ids))
			assert.Equal(t, test.keepsID, len(ids) == 1 && ids[0] == pprofile.ProfileID{1})

			again := processes(test.processes...)
			group(again, "process.executable.name", "service.name")
			assert.Equal(t, ids, idsOf(again), "a retry has the same ids")
		})
	}
}

// The original payload has all samples of a capture. No part keeps it: otherwise a writer that prefers it would count samples twice.
func TestGroupPayloads(t *testing.T) {
	const key = "process.executable.name"
	for name, tt := range map[string]struct {
		cpu, wall []string
		kept      bool
	}{
		"one group":                 {[]string{"java", "java"}, []string{"java"}, true},
		"nothing moves":             {[]string{"", ""}, []string{""}, true},
		"several groups":            {[]string{"java", "node"}, []string{"java", "node"}, false},
		"one profile moves":         {[]string{"java", "java"}, []string{""}, false},
		"each to another":           {[]string{"java", "java"}, []string{"node"}, false},
		"some of a profile":         {[]string{"java", ""}, []string{"java"}, false},
		"a profile without samples": {[]string{"java"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{IncludeOriginalPayload: true}).Decode(capture(t, key, tt.cpu, tt.wall), pprof.Source{})
			require.NoError(t, err)
			want := encodedTotals(t, pd)
			group(pd, key)
			assert.Equal(t, want, encodedTotals(t, pd))
			payloads := 0
			for profile := range walk.Profiles(pd) {
				payloads += profile.OriginalPayload().Len()
				assert.Equal(t, tt.kept, profile.OriginalPayloadFormat() != "")
			}
			assert.Equal(t, tt.kept, payloads > 0)
		})
	}
}

// capture returns a pprof with a sample of each of these processes for cpu, and for wall.
func capture(t *testing.T, key string, cpu, wall []string) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	p := &profile.Profile{
		Function: []*profile.Function{f}, Location: []*profile.Location{location},
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"}},
	}
	for column, names := range [][]string{cpu, wall} {
		for i, name := range names {
			sample := &profile.Sample{Location: []*profile.Location{location}, Value: make([]int64, 2)}
			sample.Value[column] = int64(1) << (8*column + i)
			if name != "" {
				sample.Label = map[string][]string{key: {name}}
			}
			p.Sample = append(p.Sample, sample)
		}
	}
	var raw bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&raw))
	return raw.Bytes()
}

// encodedTotals returns the sum of each type in all pprofs of a message, with the original payloads.
func encodedTotals(t *testing.T, pd pprofile.Profiles) map[string]int64 {
	t.Helper()
	totals := map[string]int64{}
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{PreferOriginalPayload: true}).All(pd) {
		require.NoError(t, err)
		p, err := profile.ParseUncompressed(payload.Pprof)
		require.NoError(t, err)
		for i, sampleType := range p.SampleType {
			totals[sampleType.Type] += 0
			for _, sample := range p.Sample {
				totals[sampleType.Type] += sample.Value[i]
			}
		}
	}
	return totals
}

// The ids of the parts depend on the values, not on the order of a message: a retry can come in another message.
func TestGroupIDs(t *testing.T) {
	byName := func(names ...string) map[string]pprofile.ProfileID {
		pd, ids := processes(names...), map[string]pprofile.ProfileID{}
		require.True(t, group(pd, "service.name", "process.executable.name"))
		for _, resource := range pd.ResourceProfiles().All() {
			name, _ := resource.Resource().Attributes().Get("process.executable.name")
			ids[name.AsString()] = resource.ScopeProfiles().At(0).Profiles().At(0).ProfileID()
		}
		return ids
	}
	ids := byName("java", "node", "ruby")
	assert.Len(t, ids, 3)
	assert.Equal(t, ids, byName("ruby", "java", "ruby", "node"))
	assert.NotEqual(t, ids["java"], ids["node"])
}

// Index 0 is the zero value in each table, whatever is there.
func TestGroupIgnoresIndexZero(t *testing.T) {
	pd := processes("java", "node")
	d := pd.Dictionary()
	d.AttributeTable().At(d.AttributeTable().Len() - 2).CopyTo(d.AttributeTable().At(0))
	for _, sample := range onlyProfile(pd).Samples().All() {
		sample.AttributeIndices().RemoveIf(func(i int32) bool { return int(i) == d.AttributeTable().Len()-2 })
		sample.AttributeIndices().Append(0)
	}
	require.True(t, group(pd, "process.executable.name"))
	assert.Len(t, idsOf(pd), 2)
	_, found := pd.ResourceProfiles().At(0).Resource().Attributes().Get("process.executable.name")
	assert.False(t, found, "a sample with index 0 alone has no group")

	pd = processes("java")
	pd.Dictionary().StringTable().SetAt(0, "process.executable.name")
	d = pd.Dictionary()
	d.AttributeTable().At(d.AttributeTable().Len() - 1).SetKeyStrindex(0)
	assert.False(t, group(pd, "process.executable.name"))
}

// An attribute of samples replaces that of the resource.
func TestGroupReplaces(t *testing.T) {
	pd := processes("java")
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("process.executable.name", "profiler")
	require.True(t, group(pd, "process.executable.name"))
	assert.Equal(t, map[string]int64{"java": 1}, sums(t, pd))
}

// Attributes that cannot be used for grouping stay. So do samples that make a profile invalid: Deduplicate reports them.
func TestGroupLeaves(t *testing.T) {
	for name, change := range map[string]func(d pprofile.ProfilesDictionary, sample pprofile.Sample){
		"a list": func(d pprofile.ProfilesDictionary, _ pprofile.Sample) {
			d.AttributeTable().At(d.AttributeTable().Len() - 1).Value().SetEmptySlice()
		},
		"two values": func(d pprofile.ProfilesDictionary, sample pprofile.Sample) {
			a := d.AttributeTable().AppendEmpty()
			d.AttributeTable().At(d.AttributeTable().Len() - 2).CopyTo(a)
			a.Value().SetStr("other")
			sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
		},
		"no such attribute": func(_ pprofile.ProfilesDictionary, sample pprofile.Sample) { sample.AttributeIndices().Append(1 << 20) },
		"below 0":           func(_ pprofile.ProfilesDictionary, sample pprofile.Sample) { sample.AttributeIndices().Append(-1) },
		"no such key": func(d pprofile.ProfilesDictionary, _ pprofile.Sample) {
			d.AttributeTable().At(d.AttributeTable().Len() - 1).SetKeyStrindex(1 << 20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pd := processes("java")
			change(pd.Dictionary(), onlyProfile(pd).Samples().At(0))
			before := clone(pd)
			group(pd, "process.executable.name")
			assert.Equal(t, before, pd)
		})
	}
}

// A resource that cannot be copied stays, and all others are grouped.
func TestGroupLeavesDeepResources(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	for _, place := range []string{"resource", "scope"} {
		pd := processes("java", "node")
		sound := clone(pd)
		profiletest.Deepen(pd, place, deep)
		pd = dedup.Join([]pprofile.Profiles{pd, sound})
		require.True(t, group(pd, "process.executable.name"), place)
		assert.Equal(t, 3, pd.ResourceProfiles().Len(), place)
		after, stats := deduplicate(t, pd)
		assert.Equal(t, 1, stats.Invalid[dedup.TooDeep], place)
		assert.Equal(t, map[string]int64{"java": 1, "node": 2}, sums(t, after), place)
	}
}

// The work is linear in the input and in the copies, for any number of groups, profiles and resources.
func TestManyGroups(t *testing.T) {
	n := many(t) / 4
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().FromRaw([]string{"", "process.pid"})
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	for i := range n {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(1)
		a.Value().SetInt(int64(i))
	}
	one := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	for i := range n {
		one.Samples().AppendEmpty().AttributeIndices().Append(int32(i + 1))
	}
	other := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	for i := range n {
		other.Profiles().AppendEmpty().Samples().AppendEmpty().AttributeIndices().Append(int32(i%2 + 1))
	}
	require.True(t, group(pd, "process.pid"))
	assert.Equal(t, n+2, pd.ResourceProfiles().Len())
	assert.Equal(t, 2*n, pd.SampleCount())
	assert.Equal(t, 2*n, pd.ProfileCount())
}
