// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func TestCheckWantsUniqueKeysOfResourceAndScope(t *testing.T) {
	pd := newMessage()
	putTwice(t, pd.ResourceProfiles().At(0).Resource().Attributes())
	require.EqualError(t, Check(pd), `resource_profiles[0]: has two attributes with the key "twice"`)

	pd = newMessage()
	putTwice(t, firstScope(pd).Scope().Attributes())
	require.EqualError(t, Check(pd), `resource_profiles[0].scope_profiles[0]: has two attributes with the key "twice"`)
}

func TestCheckWantsEntryZero(t *testing.T) {
	err := Check(pprofile.NewProfiles())
	for _, table := range []string{
		"string_table", "attribute_table", "function_table", "mapping_table", "location_table", "stack_table", "link_table",
	} {
		require.ErrorContains(t, err, table+"[0]: is missing, the zero value belongs here")
	}

	pd := newMessage()
	dict := pd.Dictionary()
	dict.StringTable().SetAt(0, "zero")
	dict.AttributeTable().At(0).Value().SetBool(false)
	dict.FunctionTable().At(0).SetStartLine(1)
	dict.MappingTable().At(0).SetFileOffset(1)
	dict.LocationTable().At(0).SetAddress(1)
	dict.StackTable().At(0).LocationIndices().Append(1)
	dict.LinkTable().At(0).SetSpanID(pcommon.SpanID{1})
	err = Check(pd)
	for _, table := range []string{
		"string_table", "attribute_table", "function_table", "mapping_table", "location_table", "stack_table", "link_table",
	} {
		require.ErrorContains(t, err, table+"[0]: is not the zero value")
	}
}

// TestCheckComparesValuesByContent: what mapping.md calls equal is a duplicate, what it does not is none.
func TestCheckComparesValuesByContent(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	otherNaN := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)
	tests := []struct {
		name      string
		a, b      any
		duplicate bool
	}{
		{"NaN", math.NaN(), otherNaN, true},
		{"signed zeros", 0.0, negativeZero, true},
		{"int and double", int64(1), 1.0, false},
		{"string and bytes", "ab", []byte("ab"), false},
		{"empty string and nothing", "", nil, false},
		{"false and zero", false, int64(0), false},
		{"lists", []any{"a", int64(1)}, []any{"a", int64(1)}, true},
		{"lists in another order", []any{"a", "b"}, []any{"b", "a"}, false},
		{"lists cut differently", []any{"ab", "c"}, []any{"a", "bc"}, false},
		{"maps of other values", map[string]any{"a": "x"}, map[string]any{"a": "y"}, false},
		{"nested", map[string]any{"a": []any{math.NaN()}}, map[string]any{"a": []any{otherNaN}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pd := newMessage()
			for _, value := range []any{test.a, test.b} {
				index := addAttribute(pd, strCPU)
				require.NoError(t, pd.Dictionary().AttributeTable().At(int(index)).Value().FromRaw(value))
			}
			firstSample(pd).AttributeIndices().Append(3)
			firstProfile(pd).Samples().At(1).AttributeIndices().Append(4)
			if test.duplicate {
				require.EqualError(t, Check(pd), "attribute_table[4]: has the same content as entry 3")
				return
			}
			require.NoError(t, Check(pd))
		})
	}
}

func TestCheckIgnoresTheOrderOfMapsAndAttributeLists(t *testing.T) {
	pd := newMessage()
	first := pd.Dictionary().AttributeTable().At(int(addAttribute(pd, strCPU))).Value().SetEmptyMap()
	first.PutInt("a", 1)
	first.PutInt("b", 2)
	second := pd.Dictionary().AttributeTable().At(int(addAttribute(pd, strCPU))).Value().SetEmptyMap()
	second.PutInt("b", 2)
	second.PutInt("a", 1)
	firstSample(pd).AttributeIndices().Append(3)
	firstProfile(pd).Samples().At(1).AttributeIndices().Append(4)
	require.EqualError(t, Check(pd), "attribute_table[4]: has the same content as entry 3")

	pd = newMessage()
	m := pd.Dictionary().MappingTable().At(1)
	m.AttributeIndices().Append(1, 2)
	twin := pd.Dictionary().MappingTable().AppendEmpty()
	m.CopyTo(twin)
	twin.AttributeIndices().FromRaw([]int32{2, 1})
	pd.Dictionary().LocationTable().At(1).SetMappingIndex(2)
	require.EqualError(t, Check(pd), "mapping_table[2]: has the same content as entry 1")
}

func TestCheckDeduplicated(t *testing.T) {
	strict := CheckOptions{Deduplicated: true}

	pd := newMessage()
	firstSample(pd).CopyTo(firstProfile(pd).Samples().AppendEmpty())
	require.NoError(t, Check(pd))
	require.ErrorContains(t, strict.Check(pd), "samples[2]: is equal to element 0 and not joined with it")

	pd = newMessage()
	firstScope(pd).CopyTo(pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty())
	require.NoError(t, Check(pd))
	require.EqualError(t, strict.Check(pd), "resource_profiles[0].scope_profiles[1]: is equal to element 0 and not joined with it")

	pd = newMessage()
	pd.ResourceProfiles().At(0).CopyTo(pd.ResourceProfiles().AppendEmpty())
	require.NoError(t, Check(pd))
	require.EqualError(t, strict.Check(pd), "resource_profiles[1]: is equal to element 0 and not joined with it")
}

func TestCheckNegativeLines(t *testing.T) {
	pd := newMessage()
	pd.Dictionary().FunctionTable().At(1).SetStartLine(-1)
	pd.Dictionary().LocationTable().At(1).Lines().At(0).SetLine(-2)
	pd.Dictionary().LocationTable().At(1).Lines().At(0).SetColumn(-3)
	require.NoError(t, CheckOptions{AllowNegativeLines: true}.Check(pd))
	err := Check(pd)
	require.ErrorContains(t, err, "function_table[1]: start_line -1 is negative")
	require.ErrorContains(t, err, "location_table[1]: line -2 is negative")
	require.ErrorContains(t, err, "location_table[1]: column -3 is negative")
}

func TestCheckWantsUTF8(t *testing.T) {
	pd := newMessage()
	pd.Dictionary().StringTable().SetAt(strMain, "main\xff")
	require.EqualError(t, Check(pd), `string_table[1]: is not UTF-8: "main\xff"`)

	for _, value := range []any{"\xff", []any{"a", "\xff"}, map[string]any{"\xff": 1}, map[string]any{"a": "\xff"}} {
		pd = newMessage()
		require.NoError(t, pd.Dictionary().AttributeTable().At(1).Value().FromRaw(value))
		require.EqualError(t, Check(pd), "attribute_table[1]: holds text that is not UTF-8")
	}
}

func TestCheckWantsUTF8OutsideOfTheDictionary(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(pd pprofile.Profiles)
		want  string
	}{
		"schema of a resource": {
			func(pd pprofile.Profiles) { pd.ResourceProfiles().At(0).SetSchemaUrl("\xff") },
			`resource_profiles[0]: holds text that is not UTF-8: "\xff"`,
		},
		"attribute of a resource": {
			func(pd pprofile.Profiles) {
				pd.ResourceProfiles().At(0).Resource().Attributes().PutEmptyMap("map").PutStr("\xff", "")
			},
			"resource_profiles[0]: has an attribute with text that is not UTF-8",
		},
		"version of a scope": {
			func(pd pprofile.Profiles) { firstScope(pd).Scope().SetVersion("\xff") },
			`resource_profiles[0].scope_profiles[0]: holds text that is not UTF-8: "\xff"`,
		},
		"attribute of a scope": {
			func(pd pprofile.Profiles) { firstScope(pd).Scope().Attributes().PutStr("\xff", "") },
			"resource_profiles[0].scope_profiles[0]: has an attribute with text that is not UTF-8",
		},
		"format of a payload": {
			func(pd pprofile.Profiles) { firstProfile(pd).SetOriginalPayloadFormat("\xff") },
			`resource_profiles[0].scope_profiles[0].profiles[0]: original_payload_format is not UTF-8: "\xff"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pd := newMessage()
			test.spoil(pd)
			require.EqualError(t, Check(pd), test.want)
		})
	}
}

func TestCheckTimeRangeThatOverflows(t *testing.T) {
	pd := newMessage()
	firstProfile(pd).SetTime(math.MaxUint64 - 5)
	firstProfile(pd).SetDurationNano(math.MaxUint64)
	for _, s := range firstProfile(pd).Samples().All() {
		s.TimestampsUnixNano().Append(math.MaxUint64 - 1)
	}
	require.NoError(t, Check(pd))
}

func TestCheckBoundsTheError(t *testing.T) {
	pd := newMessage()
	for range 100 {
		pd.Dictionary().StringTable().Append("again")
	}
	lines := strings.Split(Check(pd).Error(), "\n")
	require.Len(t, lines, maxViolations+1)
	require.Equal(t, "and 179 more violations", lines[maxViolations]) // 99 duplicates and 100 orphans less 20
}

func TestCheckReadsNoDeeperThanItMust(t *testing.T) {
	pd := newMessage()
	v := pd.Dictionary().AttributeTable().At(1).Value()
	for range 10_000 {
		v = v.SetEmptySlice().AppendEmpty()
	}
	require.NoError(t, Check(pd))
}

func TestCheckOfNothing(t *testing.T) {
	require.EqualError(t, Check(pprofile.Profiles{}), "cannot check a message that was never made")
}
