// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func TestCheckAcceptsAMessageThatKeepsTheRules(t *testing.T) {
	require.NoError(t, Check(newMessage()))
	strictest := CheckOptions{Deduplicated: true}
	require.NoError(t, strictest.Check(newMessage()))
}

// TestCheckNamesTheRule breaks one rule at a time and expects one violation, which names it. The faults of gen break all indices.
func TestCheckNamesTheRule(t *testing.T) {
	tests := []struct {
		name     string
		breakIt  func(pprofile.Profiles)
		want     string
		accepted CheckOptions // what makes the message pass; the zero value where nothing does
	}{
		{
			name: "stack index", breakIt: func(pd pprofile.Profiles) {
				s := firstProfile(pd).Samples().AppendEmpty()
				s.SetStackIndex(2)
				s.Values().Append(1)
			},
			want: "resource_profiles[0].scope_profiles[0].profiles[0].samples[2]: stack_index 2 is out of range: stack_table has 2 entries",
		},
		{
			name: "key twice in a sample", breakIt: func(pd pprofile.Profiles) {
				addAttribute(pd, strThread)
				firstSample(pd).AttributeIndices().Append(3)
			},
			want: `samples[0]: attributes 1 and 3 have the same key "thread"`,
		},
		{
			name: "key twice in a profile", breakIt: func(pd pprofile.Profiles) { firstProfile(pd).AttributeIndices().Append(1, 1) },
			want: `profiles[0]: attributes 1 and 1 have the same key "thread"`,
		},
		{
			name: "key twice in a location", breakIt: func(pd pprofile.Profiles) {
				addAttribute(pd, strSize)
				pd.Dictionary().LocationTable().At(2).AttributeIndices().Append(3, 2)
			},
			want: `location_table[2]: attributes 3 and 2 have the same key "size"`,
		},
		{
			name: "key twice in a mapping", breakIt: func(pd pprofile.Profiles) {
				addAttribute(pd, strSize)
				pd.Dictionary().MappingTable().At(1).AttributeIndices().Append(3, 2)
			},
			want: `mapping_table[1]: attributes 3 and 2 have the same key "size"`,
		},
		{
			name: "lengths differ", breakIt: func(pd pprofile.Profiles) {
				firstSample(pd).TimestampsUnixNano().Append(1000, 1001)
				firstProfile(pd).Samples().At(1).TimestampsUnixNano().Append(1002)
			},
			want: "samples[0]: has 1 values and 2 timestamps",
		},
		{
			name: "neither values nor timestamps", breakIt: func(pd pprofile.Profiles) {
				for _, s := range firstProfile(pd).Samples().All() {
					s.TimestampsUnixNano().FromRaw([]uint64{1000})
					s.Values().FromRaw(nil)
				}
				firstSample(pd).TimestampsUnixNano().FromRaw(nil)
			},
			want: "samples[0]: has neither values nor timestamps",
		},
		{
			name: "several values without timestamps", breakIt: func(pd pprofile.Profiles) { firstSample(pd).Values().Append(1) },
			want:     "samples[0]: has 2 values without timestamps",
			accepted: CheckOptions{Untidy: true},
		},
		{
			name: "function without a name", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().FunctionTable().AppendEmpty().SetStartLine(1)
				pd.Dictionary().LocationTable().At(1).Lines().AppendEmpty().SetFunctionIndex(3)
			},
			want:     "function_table[3]: has neither a name, a system name nor a file name",
			accepted: CheckOptions{AllowNamelessFunctions: true},
		},
		{
			name: "negative column", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().LocationTable().At(1).Lines().At(0).SetColumn(-1)
			},
			want:     "location_table[1]: column -1 is negative",
			accepted: CheckOptions{AllowNegativeLines: true},
		},
		{
			name: "mixed shapes", breakIt: func(pd pprofile.Profiles) { firstSample(pd).TimestampsUnixNano().Append(1099) },
			want:     "samples[1]: holds values, samples before it values with timestamps",
			accepted: CheckOptions{AllowMixedShapes: true},
		},
		{
			name: "timestamp before the profile", breakIt: func(pd pprofile.Profiles) { setTimestamps(pd, 999) },
			want:     "samples[0]: timestamp 999 is outside of [1000, 1100)",
			accepted: CheckOptions{AllowTimestampsOutside: true},
		},
		{
			name: "timestamp at the end of the profile", breakIt: func(pd pprofile.Profiles) { setTimestamps(pd, 1100) },
			want:     "samples[0]: timestamp 1100 is outside of [1000, 1100)",
			accepted: CheckOptions{AllowTimestampsOutside: true},
		},
		{
			name: "attributes out of order", breakIt: func(pd pprofile.Profiles) { firstSample(pd).AttributeIndices().FromRaw([]int32{2, 1}) },
			want: "samples[0]: attribute_indices are not sorted: 2 stands before 1",
		},
		{
			name: "string twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().StringTable().Append("main.main")
				pd.Dictionary().FunctionTable().At(1).SetSystemNameStrindex(strUnused)
			},
			want: "string_table[10]: has the same content as entry 1",
		},
		{
			name: "function twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().FunctionTable().At(1).CopyTo(pd.Dictionary().FunctionTable().AppendEmpty())
				pd.Dictionary().LocationTable().At(1).Lines().AppendEmpty().SetFunctionIndex(3)
			},
			want: "function_table[3]: has the same content as entry 1",
		},
		{
			name: "mapping twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().MappingTable().At(1).CopyTo(pd.Dictionary().MappingTable().AppendEmpty())
				pd.Dictionary().LocationTable().At(1).SetMappingIndex(2)
			},
			want: "mapping_table[2]: has the same content as entry 1",
		},
		{
			name: "location twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().LocationTable().At(1).CopyTo(pd.Dictionary().LocationTable().AppendEmpty())
				pd.Dictionary().StackTable().At(1).LocationIndices().Append(3)
			},
			want: "location_table[3]: has the same content as entry 1",
		},
		{
			name: "stack twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().StackTable().At(1).CopyTo(pd.Dictionary().StackTable().AppendEmpty())
				firstSample(pd).SetStackIndex(2)
			},
			want: "stack_table[2]: has the same content as entry 1",
		},
		{
			name: "empty stack twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().StackTable().AppendEmpty()
				firstSample(pd).SetStackIndex(2)
			},
			want: "stack_table[2]: has the same content as entry 0",
		},
		{
			name: "link twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{1})
				firstProfile(pd).Samples().At(1).SetLinkIndex(2)
			},
			want: "link_table[2]: has the same content as entry 1",
		},
		{
			name: "attribute twice", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().AttributeTable().At(1).CopyTo(pd.Dictionary().AttributeTable().AppendEmpty())
				firstProfile(pd).AttributeIndices().Append(3)
			},
			want: "attribute_table[3]: has the same content as entry 1",
		},
		{
			name: "orphaned string", breakIt: func(pd pprofile.Profiles) { pd.Dictionary().StringTable().Append("unused") },
			want: "string_table[10]: is an orphan: no profile leads to it",
		},
		{
			name: "string of the resource", breakIt: func(pd pprofile.Profiles) { pd.Dictionary().StringTable().Append("service.name") },
			want:     "string_table[10]: is an orphan",
			accepted: CheckOptions{AllowAttributeStrings: true},
		},
		{
			name: "string in a list of the scope", breakIt: func(pd pprofile.Profiles) {
				firstScope(pd).Scope().Attributes().PutEmptySlice("list").AppendEmpty().SetStr("unused")
				pd.Dictionary().StringTable().Append("unused")
			},
			want:     "string_table[10]: is an orphan",
			accepted: CheckOptions{AllowAttributeStrings: true},
		},
		{
			name: "orphaned function", breakIt: func(pd pprofile.Profiles) {
				function := pd.Dictionary().FunctionTable().AppendEmpty()
				function.SetNameStrindex(1)
				function.SetStartLine(1)
			},
			want: "function_table[3]: is an orphan",
		},
		{
			name: "orphaned mapping", breakIt: func(pd pprofile.Profiles) { pd.Dictionary().MappingTable().AppendEmpty().SetFileOffset(1) },
			want:     "mapping_table[2]: is an orphan",
			accepted: CheckOptions{AllowUnreferencedMappings: true},
		},
		{
			name: "orphaned location", breakIt: func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().AppendEmpty().SetAddress(1) },
			want: "location_table[3]: is an orphan",
		},
		{
			name: "orphaned stack", breakIt: func(pd pprofile.Profiles) {
				pd.Dictionary().StackTable().AppendEmpty().LocationIndices().Append(1)
			},
			want: "stack_table[2]: is an orphan",
		},
		{
			name: "orphaned link", breakIt: func(pd pprofile.Profiles) { pd.Dictionary().LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{2}) },
			want: "link_table[2]: is an orphan",
		},
		{
			name: "orphaned attribute", breakIt: func(pd pprofile.Profiles) { addAttribute(pd, strThread) },
			want: "attribute_table[3]: is an orphan",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pd := newMessage()
			test.breakIt(pd)
			err := Check(pd)
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "\n", "more than one violation")
			if test.accepted != (CheckOptions{}) {
				assert.NoError(t, test.accepted.Check(pd))
			}
		})
	}
}

// addAttribute appends an attribute with the key and a value that no other has.
func addAttribute(pd pprofile.Profiles, key int32) int32 {
	table := pd.Dictionary().AttributeTable()
	kv := table.AppendEmpty()
	kv.SetKeyStrindex(key)
	kv.Value().SetInt(int64(1000 + table.Len()))
	return int32(table.Len() - 1)
}

// putTwice gives m two entries with one key. Only a message from outside can have them.
func putTwice(t *testing.T, m pcommon.Map) {
	t.Helper()
	const message = `{"resourceProfiles":[{"resource":{"attributes":[{"key":"twice"},{"key":"twice"}]}}]}`
	pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(message))
	require.NoError(t, err)
	pd.ResourceProfiles().At(0).Resource().Attributes().CopyTo(m)
}

func setTimestamps(pd pprofile.Profiles, timestamp uint64) {
	for _, s := range firstProfile(pd).Samples().All() {
		s.TimestampsUnixNano().FromRaw([]uint64{1050})
	}
	firstSample(pd).TimestampsUnixNano().FromRaw([]uint64{timestamp})
}
