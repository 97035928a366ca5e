// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestGroups: profiles with equal time, duration, period and attributes, and with different types, become one pprof.
func TestGroups(t *testing.T) {
	for name, test := range map[string]struct {
		build func(m *message)
		want  [][]string
	}{
		"alike": {func(m *message) { m.profile("a/1"); m.profile("b/2"); m.profile("c/3") }, [][]string{{"b/2", "c/3", "a/1"}}},
		"other time": {func(m *message) { m.profile("a/1"); m.profile("b/2").SetTime(5); m.profile("c/3") }, [][]string{
			{"c/3", "a/1"}, {"b/2"},
		}},
		"other duration": {func(m *message) { m.profile("a/1"); m.profile("b/2").SetDurationNano(5) }, [][]string{{"a/1"}, {"b/2"}}},
		"other period":   {func(m *message) { m.profile("a/1"); m.profile("b/2").SetPeriod(5) }, [][]string{{"a/1"}, {"b/2"}}},
		"other period type": {func(m *message) {
			m.profile("a/1")
			m.setType(m.profile("b/2").PeriodType(), "x/y")
		}, [][]string{{"a/1"}, {"b/2"}}},
		"other attributes": {func(m *message) {
			m.profile("a/1")
			m.profile("b/2").AttributeIndices().Append(m.attribute("host", "x", ""))
		}, [][]string{{"a/1"}, {"b/2"}}},
		"equal attributes in another order": {func(m *message) {
			m.profile("a/1").AttributeIndices().Append(m.attribute("x", 1, ""), m.attribute("y", 2, ""))
			m.profile("b/2").AttributeIndices().Append(m.attribute("y", 2, ""), m.attribute("x", 1, ""))
		}, [][]string{{"b/2", "a/1"}}},
		"comments do not part": {func(m *message) {
			m.profile("a/1").AttributeIndices().Append(m.attribute("pprof.profile.comment", []any{"c"}, ""))
			m.profile("b/2")
			m.profile("c/3").AttributeIndices().Append(m.attribute("pprof.profile.comment.0", "c", ""))
		}, [][]string{{"b/2", "c/3", "a/1"}}},
		"a type twice": {func(m *message) { m.profile("a/1"); m.profile("b/2"); m.profile("a/1"); m.profile("b/2") }, [][]string{
			{"b/2", "a/1"}, {"b/2", "a/1"},
		}},
		"a type thrice":         {func(m *message) { m.profile("a/1"); m.profile("a/1"); m.profile("b/2"); m.profile("a/1") }, [][]string{{"b/2", "a/1"}, {"a/1"}, {"a/1"}}},
		"units make the type":   {func(m *message) { m.profile("a/1"); m.profile("a/2") }, [][]string{{"a/2", "a/1"}}},
		"other profile ids":     {func(m *message) { m.profile("a/1").SetProfileID(pprofile.ProfileID{1}); m.profile("b/2") }, [][]string{{"b/2", "a/1"}}},
		"none":                  {func(*message) {}, nil},
		"a type without a name": {func(m *message) { m.profile("/") }, [][]string{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			test.build(m)
			var got [][]string
			for _, e := range encode(t, m.done(), pprof.EncodeOptions{}) {
				got = append(got, e.types())
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestGroupsOfScopes: profiles of two scopes or resources never become one pprof.
func TestGroupsOfScopes(t *testing.T) {
	m := newMessage()
	m.scope().Scope().SetName("first")
	m.profile("a/1").SetProfileID(pprofile.ProfileID{1})
	second := m.pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty()
	second.Scope().SetName("second")
	m.profileIn(second, "b/2").SetProfileID(pprofile.ProfileID{2})
	other := m.addResource("cart")
	m.profileIn(other, "c/3").SetProfileID(pprofile.ProfileID{3})
	m.profileIn(other, "d/4").SetProfileID(pprofile.ProfileID{4})
	m.addResource("no profiles")

	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 3)
	for i, want := range []struct {
		service, scope string
		id             byte
		types          []string
		positions      []int
		at             [2]int
		profileType    string
	}{
		{"checkout", "first", 1, []string{"a/1"}, []int{0}, [2]int{0, 0}, "a"},
		{"checkout", "second", 2, []string{"b/2"}, []int{0}, [2]int{0, 1}, "b"},
		{"cart", "", 3, []string{"d/4", "c/3"}, []int{0, 1}, [2]int{1, 0}, "c"},
	} {
		got := all[i]
		assert.Equal(t, `service.name="`+want.service+`"`, showMap(got.Resource.Attributes()))
		assert.Equal(t, want.scope, got.Scope.Name())
		assert.Equal(t, pprofile.ProfileID{want.id}, got.ProfileID)
		assert.Equal(t, want.types, got.types())
		assert.Equal(t, len(want.positions), got.Profiles)
		assert.Equal(t, want.positions, got.Positions)
		assert.Equal(t, want.at, [2]int{got.ResourceIndex, got.ScopeIndex})
		assert.Equal(t, want.profileType, got.ProfileType)
	}
}

// TestSampleTypeOrder: the scope determines the order if it fits the group. Otherwise the first type becomes the last.
func TestSampleTypeOrder(t *testing.T) {
	for name, test := range map[string]struct {
		order any
		want  []string
	}{
		"none":          {nil, []string{"b/2", "c/3", "a/1"}},
		"as they stand": {[]any{0, 1, 2}, []string{"a/1", "b/2", "c/3"}},
		"turned":        {[]any{2, 1, 0}, []string{"c/3", "b/2", "a/1"}},
		"the last was":  {[]any{2, 0, 1}, []string{"b/2", "c/3", "a/1"}},
		"too short":     {[]any{1, 0}, []string{"b/2", "c/3", "a/1"}},
		"too long":      {[]any{1, 0, 2, 3}, []string{"b/2", "c/3", "a/1"}},
		"twice":         {[]any{1, 1, 0}, []string{"b/2", "c/3", "a/1"}},
		"outside":       {[]any{0, 1, 3}, []string{"b/2", "c/3", "a/1"}},
		"negative":      {[]any{0, 1, -1}, []string{"b/2", "c/3", "a/1"}},
		"huge":          {[]any{0, 1, int64(math.MaxInt64)}, []string{"b/2", "c/3", "a/1"}},
		"text":          {"0,1,2", []string{"b/2", "c/3", "a/1"}},
		"texts":         {[]any{"0", "1", "2"}, []string{"b/2", "c/3", "a/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			if test.order != nil {
				require.NoError(t, m.scope().Scope().Attributes().PutEmpty("pprof.scope.sample_type_order").FromRaw(test.order))
			}
			for i, sampleType := range []string{"a/1", "b/2", "c/3"} {
				m.sample(m.profile(sampleType), m.stack("f"), []int64{int64(i + 1)})
			}
			all := encode(t, m.done(), pprof.EncodeOptions{})
			require.Len(t, all, 1)
			assert.Equal(t, test.want, all[0].types())
			for i, sampleType := range test.want { // values belong to their types
				assert.Equal(t, int64(sampleType[2]-'0'), all[0].parsed.Sample[0].Value[i])
			}
			assert.Equal(t, "a", all[0].ProfileType, "OTLP's first is the default")
		})
	}
}

// TestOrderOfEqualTypes: if the scope has the order of all its profiles, they came from one pprof, even if a type occurs
// twice.
func TestOrderOfEqualTypes(t *testing.T) {
	m := newMessage()
	require.NoError(t, m.scope().Scope().Attributes().PutEmpty("pprof.scope.sample_type_order").FromRaw([]any{1, 0}))
	m.sample(m.profile("a/1"), 0, []int64{5})
	m.sample(m.profile("a/1"), 0, []int64{6})
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	assert.Equal(t, []string{"a/1", "a/1"}, all[0].types())
	assert.Equal(t, []string{" [6 5]"}, all[0].samples())
}

// TestJoinedSamples: samples with equal stack, attributes and link become one, with a value for each type. A missing
// value is 0.
func TestJoinedSamples(t *testing.T) {
	m := newMessage()
	x, y := m.attribute("x", "1", ""), m.attribute("y", 2, "bytes")
	a, b := m.profile("a/1"), m.profile("b/2")
	m.sample(a, m.stack("f", "g"), []int64{1}, x, y)
	m.sample(a, m.stack("f", "g"), []int64{10})
	m.sample(a, m.stack("f"), []int64{2})
	m.sample(a, m.stack("f"), []int64{3}) // repeated: summed
	linked := m.sample(a, m.stack("f"), []int64{4})
	linked.SetLinkIndex(1)
	m.sample(b, m.stack("f", "g"), []int64{5}, y, x) // in another order
	m.sample(b, m.stack("g"), []int64{6})
	m.sample(b, m.stack("f"), []int64{7, 8}) // several values: summed
	pd := m.done()
	pd.Dictionary().LinkTable().AppendEmpty().SetSpanID(pcommon.SpanID{1})

	all := encode(t, pd, pprof.EncodeOptions{})
	require.Len(t, all, 1)
	assert.Equal(t, []string{"b/2", "a/1"}, all[0].types())
	assert.Equal(t, []string{
		`f;g [5 1] x=["1"] y=[2] ["bytes"]`, "f;g [0 10]", "g [6 0]", "f [15 5]", `f [0 4] span_id=["0100000000000000"]`,
	}, all[0].samples())
	assert.Equal(t, 8, all[0].OTLPSamples)
	assert.Equal(t, 5, all[0].Samples)
}

// TestTimestamps: summed, or one sample for each event.
func TestTimestamps(t *testing.T) {
	build := func() pprofile.Profiles {
		m := newMessage()
		p := m.profile("a/1")
		m.sample(p, m.stack("f"), []int64{1, 2, 3}, m.attribute("x", "1", "")).TimestampsUnixNano().Append(100, 200, math.MaxUint64)
		m.sample(p, m.stack("g"), []int64{4, 5})
		m.sample(p, m.stack("h"), nil).TimestampsUnixNano().Append(300, 300)
		return m.done()
	}
	all := encode(t, build(), pprof.EncodeOptions{})
	assert.Equal(t, []string{`f [6] x=["1"]`, "g [9]", "h [2]"}, all[0].samples())
	assert.Equal(t, 5, all[0].Lost.Timestamps)

	all = encode(t, build(), pprof.EncodeOptions{TimestampLabels: true})
	assert.Equal(t, []string{
		`f [1] x=["1"] timestamp=[100] ["nanoseconds"]`, `f [2] x=["1"] timestamp=[200] ["nanoseconds"]`,
		`f [3] x=["1"] timestamp=[9223372036854775807] ["nanoseconds"]`,
		"g [9]", `h [2] timestamp=[300] ["nanoseconds"]`,
	}, all[0].samples())
	assert.Zero(t, all[0].Lost.Timestamps)
	assert.Equal(t, 3, all[0].OTLPSamples)
}

// TestTimestampThatIsALabelAlready: an event equals a sample that has the same time as an attribute, and has one label
// for it.
func TestTimestampThatIsALabelAlready(t *testing.T) {
	m := newMessage()
	label, x := m.attribute("timestamp", 100, "nanoseconds"), m.attribute("x", "1", "")
	p := m.profile("a/1")
	m.sample(p, m.stack("f"), []int64{1}, label, x)
	m.sample(p, m.stack("f"), []int64{2}, x).TimestampsUnixNano().Append(100)
	m.sample(p, m.stack("f"), []int64{4}, x, label).TimestampsUnixNano().Append(100)
	all := encode(t, m.done(), pprof.EncodeOptions{TimestampLabels: true})
	assert.Equal(t, []string{`f [7] x=["1"] timestamp=[100] ["nanoseconds"]`}, all[0].samples())
}

// TestTimestampsWithoutValues: each counts 1, also if the period has the type of the samples.
func TestTimestampsWithoutValues(t *testing.T) {
	for name, test := range map[string]struct {
		sampleType, periodType string
		period                 int64
	}{
		"nothing known":           {"samples/count", "/", 0},
		"samples of a cpu period": {"samples/count", "cpu/nanoseconds", 10},
		"of the period's type":    {"cpu/nanoseconds", "cpu/nanoseconds", 10},
		"another unit":            {"cpu/milliseconds", "cpu/nanoseconds", 10},
		"no period":               {"cpu/nanoseconds", "cpu/nanoseconds", 0},
		"negative period":         {"cpu/nanoseconds", "cpu/nanoseconds", -10},
		"types without a name":    {"/", "/", 10},
	} {
		m := newMessage()
		p := m.profile(test.sampleType)
		m.setType(p.PeriodType(), test.periodType)
		p.SetPeriod(test.period)
		m.sample(p, m.stack("f"), nil).TimestampsUnixNano().Append(1, 2, 3)
		assert.Equal(t, []string{"f [3]"}, encode(t, m.done(), pprof.EncodeOptions{})[0].samples(), name)
	}
}
