// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

var (
	someTrace = pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	someSpan  = pcommon.SpanID{1, 2, 3, 4, 5, 6, 7, 8}
)

// linked returns a message with a sample for each link. All samples have one stack.
func linked(key string, links ...[2]bool) pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for i := range links {
			s := sample(1)
			s.SetLinkIndex(int32(i + 1))
			s.Values().Append(int64(i + 1))
		}
	})
	pd.Dictionary().StringTable().SetAt(5, key)
	for _, has := range links {
		link := pd.Dictionary().LinkTable().AppendEmpty()
		if has[0] {
			link.SetTraceID(someTrace)
		}
		if has[1] {
			link.SetSpanID(someSpan)
		}
	}
	return pd
}

// said has what a sample says about its span: its link and its text attributes.
type said struct {
	link       bool
	attributes map[string]string
}

func saidBy(pd pprofile.Profiles) (all []said) {
	d := pd.Dictionary()
	for _, sample := range onlyProfile(pd).Samples().All() {
		s := said{link: sample.LinkIndex() != 0, attributes: map[string]string{}}
		for _, i := range sample.AttributeIndices().All() {
			a := d.AttributeTable().At(int(i))
			if a.Value().Type() == pcommon.ValueTypeStr {
				s.attributes[d.StringTable().At(int(a.KeyStrindex()))] = a.Value().Str()
			}
		}
		all = append(all, s)
	}
	return all
}

// If an attribute has the id of a link, in any form that the translators read, the link is removed without a new attribute.
func TestPartialLinksThatAnAttributeHas(t *testing.T) {
	short := func(pd pprofile.Profiles) {
		pd.Dictionary().LinkTable().At(1).SetTraceID(pcommon.TraceID{14: 1, 15: 0xab})
	}
	for _, tt := range []struct {
		key, value string
		link       [2]bool
		short, has bool
	}{
		{"trace_id", "0102030405060708090A0b0c0d0e0f10", [2]bool{true, false}, false, true},
		{"otel.traceid", "0x102030405060708090a0b0c0d0e0f10", [2]bool{true, false}, false, true},
		{"trace_id", "1ab", [2]bool{true, false}, true, true},
		{"trace id", "427", [2]bool{true, false}, true, true},
		{"trace_id", "427", [2]bool{true, false}, true, true},
		{"trace id", "000000000000000000000000000001ab", [2]bool{true, false}, true, true},
		{"span id", "72623859790382856", [2]bool{false, true}, false, true},
		{"span_id", "102030405060708", [2]bool{false, true}, false, true},
		{"span_id", "0102030405060709", [2]bool{false, true}, false, false},
		{"span_id", "0102030405060708", [2]bool{true, false}, false, false},
		{"trace_id", "", [2]bool{true, false}, true, false},
		{"trace_id", "0x", [2]bool{true, false}, true, false},
		{"trace_id", strings.Repeat("0", 1<<20) + "1ab", [2]bool{true, false}, true, false},
	} {
		pd := linked(tt.key, tt.link)
		pd.Dictionary().AttributeTable().At(3).Value().SetStr(tt.value)
		if tt.short {
			short(pd)
		}
		after, stats, err := dedup.New(dedup.Options{DropPartialLinks: true}).Deduplicate(pd)
		require.NoError(t, err)
		assert.Equal(t, 1, stats.PartialLinks)
		assert.Zero(t, stats.Invalid)
		assert.Equal(t, tt.has, len(saidBy(after)[0].attributes) == 1, "%s=%.40s", tt.key, tt.value)
		require.NoError(t, profiletest.Check(after))
	}
}

// TestPartialLinksWithoutAttributes: index 0 is the zero value, also if the message has no attributes yet.
func TestPartialLinksWithoutAttributes(t *testing.T) {
	pd := pprofile.NewProfiles()
	pd.Dictionary().LinkTable().AppendEmpty()
	pd.Dictionary().LinkTable().AppendEmpty().SetTraceID(someTrace)
	sample := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()
	sample.Values().Append(1)
	sample.SetLinkIndex(1)
	after, _, err := dedup.New(dedup.Options{DropPartialLinks: true}).Deduplicate(pd)
	require.NoError(t, err)
	assert.Equal(t, []said{{false, map[string]string{"trace_id": someTrace.String()}}}, saidBy(after))
	requireCanonical(t, after)
}

// TestNewEntriesDoNotReplaceMissing: a profile with an index out of range is dropped, also if a new entry gets that index.
func TestNewEntriesDoNotReplaceMissing(t *testing.T) {
	for name, spoil := range map[string]func(pd pprofile.Profiles, broken pprofile.Profile){
		"an attribute": func(pd pprofile.Profiles, broken pprofile.Profile) {
			broken.Samples().At(0).AttributeIndices().Append(int32(pd.Dictionary().AttributeTable().Len()))
		},
		"the key of an attribute": func(pd pprofile.Profiles, broken pprofile.Profile) {
			broken.SampleType().SetTypeStrindex(int32(pd.Dictionary().StringTable().Len()))
		},
	} {
		for _, link := range [][2]bool{{true, false}, {true, true}} {
			pd := linked("region", link)
			pd.Dictionary().FunctionTable().At(1).SetNameStrindex(0)
			pd.Dictionary().FunctionTable().At(1).SetStartLine(7) // It gets a name.
			broken := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().AppendEmpty()
			broken.Samples().AppendEmpty().Values().Append(1)
			spoil(pd, broken)
			after, stats, err := dedup.New(dedup.Options{DropPartialLinks: true, NameFunctions: true}).Deduplicate(pd)
			require.NoError(t, err)
			assert.Equal(t, 1, stats.NamedFunctions)
			assert.Equal(t, 1, stats.Invalid[dedup.IndexOutOfRange], name)
			assert.Equal(t, 1, after.ProfileCount(), name)
		}
	}
}

func TestPartialLinks(t *testing.T) {
	const trace, span = "0102030405060708090a0b0c0d0e0f10", "0102030405060708"
	for _, tt := range []struct {
		name, key string
		links     [][2]bool
		want      []said
		partial   int
	}{
		{"whole", "region", [][2]bool{{true, true}}, []said{{true, map[string]string{"region": "eu"}}}, 0},
		{"trace only", "region", [][2]bool{{true, false}, {true, true}}, []said{
			{false, map[string]string{"region": "eu", "trace_id": trace}},
			{true, map[string]string{"region": "eu"}},
		}, 1},
		{"span only", "region", [][2]bool{{false, true}}, []said{{false, map[string]string{"region": "eu", "span_id": span}}}, 1},
		{"an attribute names another trace", "otel.traceid", [][2]bool{{true, false}}, []said{
			{false, map[string]string{"otel.traceid": "eu", "trace_id": trace}},
		}, 1},
		{"an attribute names another span", "span id", [][2]bool{{false, true}}, []said{
			{false, map[string]string{"span id": "eu", "span_id": span}},
		}, 1},
		{"the key has another value", "trace_id", [][2]bool{{true, false}, {true, true}}, []said{
			{false, map[string]string{"trace_id": "eu", "trace_id.2": trace}},
			{true, map[string]string{"trace_id": "eu"}},
		}, 1},
		{"the key of the span has another value", "span_id", [][2]bool{{false, true}}, []said{
			{false, map[string]string{"span_id": "eu", "span_id.2": span}},
		}, 1},
		{"equal links of two entries", "region", [][2]bool{{true, false}, {true, false}}, []said{
			{false, map[string]string{"region": "eu", "trace_id": trace}},
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pd, stats, err := dedup.New(dedup.Options{DropPartialLinks: true}).Deduplicate(linked(tt.key, tt.links...))
			require.NoError(t, err)
			assert.Equal(t, tt.want, saidBy(pd))
			assert.Equal(t, tt.partial, stats.PartialLinks)
			for _, link := range pd.Dictionary().LinkTable().All() {
				assert.Equal(t, link.TraceID().IsEmpty(), link.SpanID().IsEmpty(), "no link of one id is left")
			}
			require.NoError(t, profiletest.Check(pd))
		})
	}
	kept, _, err := dedup.New(dedup.Options{}).Deduplicate(linked("region", [2]bool{true, false}))
	require.NoError(t, err)
	assert.Equal(t, []said{{true, map[string]string{"region": "eu"}}}, saidBy(kept), "without the option")
}

// captureOf returns one capture with a profile for each value. The first has the comments. Profiles for 0 have no sample.
func captureOf(values ...int64) pprofile.Profiles {
	pd := samplesOf(func(func(int32) pprofile.Sample) {})
	pd.Dictionary().StringTable().Append("pprof.profile.comment")
	comment := pd.Dictionary().AttributeTable().AppendEmpty()
	comment.SetKeyStrindex(6)
	comment.Value().SetEmptySlice().AppendEmpty().SetStr("by hand")
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	for range values[1:] {
		profiles.At(0).CopyTo(profiles.AppendEmpty())
	}
	for i, value := range values {
		profile := profiles.At(i)
		profile.SetProfileID(pprofile.ProfileID{byte(i + 1)})
		if value > 0 {
			sample := profile.Samples().AppendEmpty()
			sample.SetStackIndex(1)
			sample.Values().Append(value)
		}
	}
	profiles.At(0).AttributeIndices().Append(4)
	return pd
}

func TestEmptyProfiles(t *testing.T) {
	for _, tt := range []struct {
		name          string
		values        []int64
		kept          []byte
		commentOf     byte
		dropped       int
		wantResources int
	}{
		{"none is empty", []int64{1, 2}, []byte{1, 2}, 1, 0, 1},
		{"the last", []int64{1, 0}, []byte{1}, 1, 1, 1},
		{"the one with the comments", []int64{0, 2, 3}, []byte{2, 3}, 2, 1, 1},
		{"all", []int64{0, 0}, nil, 0, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pd := captureOf(tt.values...)
			pd.MarkReadOnly()
			out, stats, err := dedup.New(dedup.Options{DropEmptyProfiles: true}).Deduplicate(pd)
			require.NoError(t, err)
			assert.Equal(t, tt.dropped, stats.EmptyProfiles)
			assert.Equal(t, len(tt.kept), out.ProfileCount())
			assert.Equal(t, len(tt.values), pd.ProfileCount(), "a message of others stays as it is")
			require.Equal(t, tt.wantResources, out.ResourceProfiles().Len())
			var kept []byte
			for _, resource := range out.ResourceProfiles().All() {
				for _, profile := range resource.ScopeProfiles().At(0).Profiles().All() {
					kept = append(kept, profile.ProfileID()[0])
					assert.Equal(t, profile.ProfileID()[0] == tt.commentOf, profile.AttributeIndices().Len() == 1)
				}
			}
			assert.Equal(t, tt.kept, kept)
			require.NoError(t, profiletest.Check(out))
		})
	}
}

// A profile is also empty if drop_zero_samples drops all its samples.
func TestEmptyWithoutZeros(t *testing.T) {
	message := func() pprofile.Profiles {
		return samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(0) })
	}
	out, stats, err := dedup.New(dedup.Options{DropEmptyProfiles: true}).Deduplicate(message())
	require.NoError(t, err)
	assert.Equal(t, 1, out.ProfileCount(), "zeros are samples")
	assert.Zero(t, stats.EmptyProfiles)
	out, stats, err = dedup.New(dedup.Options{DropEmptyProfiles: true, DropZeroSamples: true}).Deduplicate(message())
	require.NoError(t, err)
	assert.Zero(t, out.ProfileCount())
	assert.Equal(t, [2]int{1, 1}, [2]int{stats.EmptyProfiles, stats.ZeroSamples})
}

// A message that is refused, or passed on although it is invalid, is unchanged, whatever would be mended in it.
func TestBrokenMessagesKeepAll(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		for _, action := range []dedup.OnInvalid{dedup.Reject, dedup.Pass} {
			pd := linked("region", [2]bool{true, false})
			d := pd.Dictionary()
			d.StringTable().SetAt(1, faulty)
			d.FunctionTable().AppendEmpty().SetStartLine(-7)
			line := d.LocationTable().At(1).Lines().AppendEmpty()
			line.SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
			line.SetLine(-1)
			profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
			profiles.AppendEmpty() // empty
			profiles.At(0).Samples().AppendEmpty().SetStackIndex(99)
			before := profiletest.Marshal(t, clone(pd))
			if readOnly {
				pd.MarkReadOnly()
			}
			out, stats, err := dedup.New(dedup.Options{
				OnInvalid: action, DropPartialLinks: true, DropEmptyProfiles: true, ClearNegativeLines: true, NameFunctions: true,
			}).Deduplicate(pd)
			assert.Equal(t, action == dedup.Reject, err != nil)
			assert.Equal(t, pd, out)
			assert.Equal(t, before, profiletest.Marshal(t, clone(out)))
			assert.Equal(t, [5]int{}, [5]int{stats.PartialLinks, stats.EmptyProfiles, stats.MendedTexts, stats.ClearedLines, stats.NamedFunctions})
			assert.Equal(t, 2, out.ProfileCount())
			assert.False(t, stats.Changed)
		}
	}
}
