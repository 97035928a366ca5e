// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func TestDiffFindsNothingInACopy(t *testing.T) {
	pd := newMessage()
	other := pprofile.NewProfiles()
	pd.CopyTo(other)
	require.Empty(t, Diff(pd, other))
}

// TestDiffFindsEachChange changes one thing at a time; the text must say what.
func TestDiffFindsEachChange(t *testing.T) {
	tests := []struct {
		name   string
		change func(pprofile.Profiles)
		want   string
	}{
		{"value", func(pd pprofile.Profiles) { firstSample(pd).Values().SetAt(0, 8) }, ": - 7 + 8"},
		{"timestamps", func(pd pprofile.Profiles) { firstSample(pd).TimestampsUnixNano().Append(1001) }, "{Timestamp:1001 Value:7}"},
		{"link", func(pd pprofile.Profiles) { firstSample(pd).SetLinkIndex(0) }, "link 01000000000000000000000000000000/"},
		{"attributes", func(pd pprofile.Profiles) { firstSample(pd).AttributeIndices().Append(2) }, "size=1(Int) bytes"},
		{"attribute value", func(pd pprofile.Profiles) { pd.Dictionary().AttributeTable().At(1).Value().SetInt(5) }, "thread=5(Int) bytes"},
		{"attribute unit", func(pd pprofile.Profiles) { pd.Dictionary().AttributeTable().At(1).SetUnitStrindex(0) }, "{thread=0(Int)}"},
		{"stack", func(pd pprofile.Profiles) {
			pd.Dictionary().StackTable().At(1).LocationIndices().FromRaw([]int32{2, 1})
		}, "runtime.main"},
		{"no stack", func(pd pprofile.Profiles) { firstSample(pd).SetStackIndex(0) }, "+ resource"},
		{"line", func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).Lines().At(0).SetLine(43) }, "main.go:43:0"},
		{"column", func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).Lines().At(0).SetColumn(3) }, "main.go:42:3"},
		{"address", func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).SetAddress(255) }, "0xff"},
		{"location attribute", func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).AttributeIndices().Append(1) }, "from 0 {thread"},
		{"mapping", func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).SetMappingIndex(0) }, "[0x0 main.main"},
		{"mapping start", func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().At(1).SetMemoryStart(1) }, "[0x1-0x1000@0x0]"},
		{"mapping offset", func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().At(1).SetFileOffset(1) }, "[0x0-0x1000@0x1]"},
		{"mapping limit", func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().At(1).SetMemoryLimit(1) }, "[0x0-0x1@0x0]"},
		{"mapping file", func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().At(1).SetFilenameStrindex(0) }, "in [0x0"},
		{"mapping attribute", func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().At(1).AttributeIndices().Append(1) }, "@0x0]{thread"},
		{"function name", func(pd pprofile.Profiles) { pd.Dictionary().FunctionTable().At(1).SetNameStrindex(strThread) }, " thread() main.go"},
		{"system name", func(pd pprofile.Profiles) { pd.Dictionary().FunctionTable().At(1).SetSystemNameStrindex(strThread) }, "(thread)"},
		{"file name", func(pd pprofile.Profiles) { pd.Dictionary().FunctionTable().At(1).SetFilenameStrindex(strThread) }, "thread:42"},
		{"start line", func(pd pprofile.Profiles) { pd.Dictionary().FunctionTable().At(1).SetStartLine(9) }, "from 9"},
		{"sample type", func(pd pprofile.Profiles) { firstProfile(pd).SampleType().SetTypeStrindex(strSize) }, `sample_type: - "\"cpu\"/\"nanoseconds\"" + "\"size\"/\"nanoseconds\""`},
		{"period type", func(pd pprofile.Profiles) { firstProfile(pd).PeriodType().SetUnitStrindex(0) }, "period_type"},
		{"period", func(pd pprofile.Profiles) { firstProfile(pd).SetPeriod(1) }, "period: - 10 + 1"},
		{"time", func(pd pprofile.Profiles) { firstProfile(pd).SetTime(1001) }, "time_unix_nano: - 1000 + 1001"},
		{"duration", func(pd pprofile.Profiles) { firstProfile(pd).SetDurationNano(99) }, "duration_nano: - 100 + 99"},
		{"profile id", func(pd pprofile.Profiles) { firstProfile(pd).SetProfileID(pprofile.ProfileID{1}) }, "profile_id"},
		{"profile attribute", func(pd pprofile.Profiles) { firstProfile(pd).AttributeIndices().Append(1) }, "attributes: - {} + {thread=0(Int) bytes}"},
		{"dropped attributes", func(pd pprofile.Profiles) { firstProfile(pd).SetDroppedAttributesCount(1) }, "dropped_attributes_count: - 0 + 1"},
		{"payload", func(pd pprofile.Profiles) { firstProfile(pd).OriginalPayload().Append(1) }, "original_payload:"},
		{"payload format", func(pd pprofile.Profiles) { firstProfile(pd).SetOriginalPayloadFormat("pprof") }, `original_payload_format: - "" + "pprof"`},
		{"another sample", func(pd pprofile.Profiles) { firstProfile(pd).Samples().AppendEmpty().Values().Append(3) }, "+ resource"},
		{"no sample", func(pd pprofile.Profiles) {
			firstProfile(pd).Samples().RemoveIf(func(s pprofile.Sample) bool { return s.LinkIndex() == 0 })
		}, "- resource"},
		{"another profile", func(pd pprofile.Profiles) { firstScope(pd).Profiles().AppendEmpty() }, "profile 1: "},
		{"resource", func(pd pprofile.Profiles) {
			pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("service.name", "cart")
		}, "+ resource map[service.name:cart]"},
		{"resource schema", func(pd pprofile.Profiles) { pd.ResourceProfiles().At(0).SetSchemaUrl("x") }, "+ resource"},
		{"scope name", func(pd pprofile.Profiles) { firstScope(pd).Scope().SetName("other") }, "scope other@"},
		{"scope version", func(pd pprofile.Profiles) { firstScope(pd).Scope().SetVersion("2") }, "scope scope@2"},
		{"scope attribute", func(pd pprofile.Profiles) { firstScope(pd).Scope().Attributes().PutInt("order", 2) }, "map[order:2]"},
		{"scope schema", func(pd pprofile.Profiles) { firstScope(pd).SetSchemaUrl("x") }, "+ resource"},
		{"broken index", func(pd pprofile.Profiles) { firstSample(pd).SetStackIndex(77) }, "<stack_table[77]>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changed := newMessage()
			test.change(changed)
			require.Contains(t, Diff(newMessage(), changed), test.want)
			require.NotEmpty(t, Diff(changed, newMessage()), "the other way around")
		})
	}
}

func TestDiffCombinesSamples(t *testing.T) {
	split := newMessage()
	twin := firstProfile(split).Samples().AppendEmpty()
	firstSample(split).CopyTo(twin)
	firstSample(split).Values().SetAt(0, 3)
	twin.Values().FromRaw([]int64{1, 3})
	assert.Empty(t, Diff(newMessage(), split))

	ordered, shuffled := newMessage(), newMessage()
	for _, pd := range []pprofile.Profiles{ordered, shuffled} {
		firstSample(pd).Values().FromRaw([]int64{4, 5})
		firstSample(pd).TimestampsUnixNano().FromRaw([]uint64{1001, 1002})
	}
	s := firstSample(shuffled)
	s.CopyTo(firstProfile(shuffled).Samples().AppendEmpty())
	s.Values().FromRaw([]int64{5})
	s.TimestampsUnixNano().FromRaw([]uint64{1002})
	last := firstProfile(shuffled).Samples().At(2)
	last.Values().FromRaw([]int64{4})
	last.TimestampsUnixNano().FromRaw([]uint64{1001})
	assert.Empty(t, Diff(ordered, shuffled))

	s.Values().FromRaw([]int64{4})
	last.Values().FromRaw([]int64{5})
	assert.NotEmpty(t, Diff(ordered, shuffled), "the values belong to other timestamps")
}

func TestDiffJoinsResourcesAndScopes(t *testing.T) {
	joined := newMessage()
	firstProfile(joined).CopyTo(firstScope(joined).Profiles().AppendEmpty())

	split := newMessage()
	split.ResourceProfiles().At(0).CopyTo(split.ResourceProfiles().AppendEmpty())
	split.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	assert.Empty(t, Diff(joined, split))
	assert.NotEmpty(t, Diff(newMessage(), split))
}

func TestDiffOptions(t *testing.T) {
	other := newMessage()
	firstProfile(other).SetProfileID(pprofile.ProfileID{1})
	require.Empty(t, Diff(newMessage(), other, IgnoreProfileID()))

	events := newMessage()
	firstSample(events).Values().FromRaw([]int64{3, 4})
	firstSample(events).TimestampsUnixNano().FromRaw([]uint64{1001, 1002})
	second := firstProfile(events).Samples().At(1)
	second.Values().FromRaw(nil)
	for i := range uint64(8) {
		second.TimestampsUnixNano().Append(1000 + i)
	}
	require.NotEmpty(t, Diff(newMessage(), events))
	require.Empty(t, Diff(newMessage(), events, IgnoreSampleShape()))
	second.TimestampsUnixNano().Append(1000)
	require.Contains(t, Diff(newMessage(), events, IgnoreSampleShape()), ": - 8 + 9")

	a, b := newMessage(), newMessage()
	firstScope(a).Profiles().AppendEmpty().SetPeriod(1)
	firstScope(b).Profiles().AppendEmpty()
	firstProfile(b).CopyTo(firstScope(b).Profiles().At(1))
	fresh := pprofile.NewProfile()
	fresh.SetPeriod(1)
	fresh.CopyTo(firstProfile(b))
	require.Contains(t, Diff(a, b), "the profiles stand in another order: [1 0]")
	require.Empty(t, Diff(a, b, IgnoreProfileOrder()))
}

func TestDiffComparesAttributesByContent(t *testing.T) {
	a, b := newMessage(), newMessage()
	for i, pd := range []pprofile.Profiles{a, b} {
		m := pd.Dictionary().AttributeTable().At(1).Value().SetEmptyMap()
		for j := range 2 {
			m.PutInt(string(rune('a'+(i+j)%2)), int64((i+j)%2))
		}
		firstProfile(pd).AttributeIndices().Append(1)
	}
	require.Empty(t, Diff(a, b))
	b.Dictionary().AttributeTable().At(1).Value().Map().PutInt("b", 5)
	require.NotEmpty(t, Diff(a, b))
}

func TestDiffOfBrokenMessages(t *testing.T) {
	a := newMessage()
	firstSample(a).SetStackIndex(-7)
	firstSample(a).AttributeIndices().Append(99)
	firstSample(a).SetLinkIndex(99)
	a.Dictionary().StackTable().At(1).LocationIndices().Append(99)
	a.Dictionary().LocationTable().At(1).Lines().At(0).SetFunctionIndex(99)
	a.Dictionary().LocationTable().At(1).SetMappingIndex(-99)
	a.Dictionary().FunctionTable().At(2).SetNameStrindex(99)
	b := pprofile.NewProfiles()
	a.CopyTo(b)
	require.Empty(t, Diff(a, b))
	text := Diff(a, newMessage())
	for _, want := range []string{"<stack_table[-7]>", "<attribute_table[99]>", "<function_table[99]>", "<location_table[99]>", "<string_table[99]>"} {
		assert.Contains(t, text, want)
	}

	// A dictionary without entry 0 means the same as one with it.
	withZero := pprofile.NewProfiles()
	withZero.Dictionary().StackTable().AppendEmpty()
	without := pprofile.NewProfiles()
	for _, pd := range []pprofile.Profiles{withZero, without} {
		pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty().Values().Append(1)
	}
	require.Empty(t, Diff(withZero, without))
}

func TestDiffBoundsTheText(t *testing.T) {
	a := newMessage()
	for range 100 {
		firstScope(a).Profiles().AppendEmpty()
	}
	require.Contains(t, Diff(newMessage(), a), "and 70 more differences")

	firstProfile(a).OriginalPayload().FromRaw(make([]byte, 1<<20))
	require.Less(t, len(Diff(newMessage(), a)), 20_000)
}
