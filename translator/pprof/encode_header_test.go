// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestHeader: times, period, and the attributes of a profile.
func TestHeader(t *testing.T) {
	m := newMessage()
	m.scope().Scope().Attributes().PutStr("pprof.scope.default_sample_type", "b")
	for _, sampleType := range []string{"a/1", "b/2"} {
		p := m.profile(sampleType)
		p.SetTime(1_700_000_000_123_456_789)
		p.SetDurationNano(30_000_000_001)
		p.SetPeriod(-7)
		m.setType(p.PeriodType(), "cpu/ns")
		p.AttributeIndices().Append(
			m.attribute("pprof.profile.drop_frames", "drop.*", ""), m.attribute("pprof.profile.keep_frames", "keep", ""),
			m.attribute("pprof.profile.doc_url", "https://example.com", ""),
		)
	}
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	p := all[0].parsed
	assert.Equal(t, int64(1_700_000_000_123_456_789), p.TimeNanos)
	assert.Equal(t, int64(30_000_000_001), p.DurationNanos)
	assert.Equal(t, int64(-7), p.Period)
	assert.Equal(t, "cpu", p.PeriodType.Type)
	assert.Equal(t, "ns", p.PeriodType.Unit)
	assert.Equal(t, "b", p.DefaultSampleType)
	assert.Equal(t, "drop.*", p.DropFrames)
	assert.Equal(t, "keep", p.KeepFrames)
	assert.Equal(t, "https://example.com", p.DocURL)
	assert.Empty(t, p.Comments)
	assert.Equal(t, pcommon.Timestamp(1_700_000_000_123_456_789), all[0].Time)
	assert.Equal(t, uint64(30_000_000_001), all[0].DurationNano)
}

// TestTimesThatDoNotFit: times of pprof are signed. Larger values become the maximum.
func TestTimesThatDoNotFit(t *testing.T) {
	m := newMessage()
	p := m.profile("a/1")
	p.SetTime(math.MaxUint64)
	p.SetDurationNano(math.MaxInt64 + 1)
	parsed := encode(t, m.done(), pprof.EncodeOptions{})[0].parsed
	assert.Equal(t, int64(math.MaxInt64), parsed.TimeNanos)
	assert.Equal(t, int64(math.MaxInt64), parsed.DurationNanos)
}

// TestComments: the comments of the profile in their order, in the current or the older form, then its other attributes,
// then, with the option, those of the resource.
func TestComments(t *testing.T) {
	type attribute struct {
		key   string
		value any
	}
	for name, test := range map[string]struct {
		first, second []attribute
		resource      bool
		want          []string
	}{
		"none":                     {},
		"today's":                  {first: []attribute{{"pprof.profile.comment", []any{"b", "a", "", "b"}}}, want: []string{"b", "a", "", "b"}},
		"on another profile":       {second: []attribute{{"pprof.profile.comment", []any{"b"}}}, want: []string{"b"}},
		"on both":                  {first: []attribute{{"pprof.profile.comment", []any{"a"}}}, second: []attribute{{"pprof.profile.comment", []any{"b"}}}, want: []string{"a", "b"}},
		"one text":                 {first: []attribute{{"pprof.profile.comment", "a"}}, want: []string{"a"}},
		"older":                    {first: []attribute{{"pprof.profile.comment.10", "c"}, {"pprof.profile.comment.9", "b"}, {"pprof.profile.comment.0", "a"}}, want: []string{"a", "b", "c"}},
		"not a comment":            {first: []attribute{{"pprof.profile.comments", "a"}}, second: []attribute{{"pprof.profile.comments", "a"}}, want: []string{"pprof.profile.comments=a"}},
		"other attributes":         {first: []attribute{{"host", "x"}, {"n", 5}}, second: []attribute{{"host", "x"}, {"n", 5}}, want: []string{"host=x", "n=5"}},
		"comments and others":      {first: []attribute{{"host", "x"}, {"pprof.profile.comment", []any{"a"}}}, second: []attribute{{"host", "x"}}, want: []string{"a", "host=x"}},
		"of the resource":          {resource: true, want: []string{"resource:service.name=checkout", "resource:pid=7"}},
		"of all":                   {first: []attribute{{"pprof.profile.comment", []any{"a"}}}, resource: true, want: []string{"a", "resource:service.name=checkout", "resource:pid=7"}},
		"a name is no comment":     {first: []attribute{{"profile.name", "mutex"}}, second: []attribute{{"profile.name", "mutex"}}},
		"numbers that are not int": {first: []attribute{{"pprof.profile.comment", []any{1, true}}}, want: []string{"1", "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			m.pd.ResourceProfiles().At(0).Resource().Attributes().PutInt("pid", 7)
			for i, attributes := range [][]attribute{test.first, test.second} {
				p := m.profile([]string{"a/1", "b/2"}[i])
				for _, a := range attributes {
					p.AttributeIndices().Append(m.attribute(a.key, a.value, ""))
				}
			}
			all := encode(t, m.done(), pprof.EncodeOptions{ResourceComments: test.resource})
			require.Len(t, all, 1)
			assert.Equal(t, test.want, all[0].parsed.Comments)
		})
	}
}

// TestCommentsOfTheGroup: a pprof has only the comments of its own group.
func TestCommentsOfTheGroup(t *testing.T) {
	m := newMessage()
	m.profile("a/1")
	other := m.profile("b/2")
	other.SetTime(5)
	other.AttributeIndices().Append(m.attribute("pprof.profile.comment", []any{"other"}, ""), m.attribute("pprof.profile.doc_url", "u", ""))
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 2)
	assert.Empty(t, all[0].parsed.Comments)
	assert.Empty(t, all[0].parsed.DocURL)
	assert.Equal(t, []string{"other"}, all[1].parsed.Comments)
}

// TestCapturesWithoutTime: uploads without a time become one pprof, but nothing of either is lost: neither comments nor values, also if both
// have their original payload.
func TestCapturesWithoutTime(t *testing.T) {
	upload := func(sampleType string, value int64, comments ...string) pprofile.Profiles {
		p := newPayload(sampleType).code().sample([]uint32{1}, []int64{value})
		header := pprofwire.Header{}
		for _, comment := range comments {
			header.Comments = append(header.Comments, p.text(comment))
		}
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{IncludeOriginalPayload: true}).Decode(p.header(header).bytes(), pprof.Source{})
		require.NoError(t, err)
		return pd
	}
	pd := upload("cpu/nanoseconds", 5, "a", "a")
	require.NoError(t, upload("alloc_space/bytes", 6, "b").MergeTo(pd))
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	pd.ResourceProfiles().At(1).ScopeProfiles().At(0).Profiles().MoveAndAppendTo(profiles)
	require.Equal(t, 2, profiles.Len())
	for _, prefer := range []bool{false, true} {
		totals, comments := map[string]int64{}, []string(nil)
		for _, e := range encode(t, pd, pprof.EncodeOptions{PreferOriginalPayload: prefer}) {
			comments = append(comments, e.parsed.Comments...)
			for i, sampleType := range e.types() {
				for _, sample := range e.parsed.Sample {
					totals[sampleType] += sample.Value[i]
				}
			}
		}
		assert.Equal(t, []string{"a", "a", "b"}, comments, prefer)
		assert.Equal(t, map[string]int64{"cpu/nanoseconds": 5, "alloc_space/bytes": 6}, totals, prefer)
	}
}

// TestCommentsAreNotMultiplied: many profiles of a group with one attribute have its comments once.
func TestCommentsAreNotMultiplied(t *testing.T) {
	m := newMessage()
	common := m.attribute("pprof.profile.comment", []any{"x", "y"}, "")
	for i := range 3 {
		own := m.attribute("pprof.profile.comment."+strconv.Itoa(i), strconv.Itoa(i), "")
		m.profile("a/"+strconv.Itoa(i)).AttributeIndices().Append(common, own)
	}
	all := encode(t, m.done(), pprof.EncodeOptions{})
	require.Len(t, all, 1)
	assert.Equal(t, []string{"x", "y", "0", "1", "2"}, all[0].parsed.Comments)
}

// TestProfileType: the attribute profile.name, or the default sample type.
func TestProfileType(t *testing.T) {
	m := newMessage()
	m.profile("a/1")
	m.profile("b/2")
	named := m.profile("c/3")
	named.SetTime(5)
	named.AttributeIndices().Append(m.attribute("profile.name", "mutex", ""))
	numbered := m.profile("d/4")
	numbered.SetTime(6)
	numbered.AttributeIndices().Append(m.attribute("profile.name", 7, ""))
	m.profile("/").SetTime(7)
	var types []string
	for _, e := range encode(t, m.done(), pprof.EncodeOptions{}) {
		types = append(types, e.ProfileType)
	}
	assert.Equal(t, []string{"a", "mutex", "d", ""}, types)
}

// TestPreferOriginalPayload: the original payload is returned if the option is set and the profile has a pprof.
func TestPreferOriginalPayload(t *testing.T) {
	original := newPayload("original/1").code().sample([]uint32{1}, []int64{7}).sample([]uint32{1}, []int64{8}).bytes()
	build := func(format string, payloads ...[]byte) encoded {
		m := newMessage()
		first, second := m.profile("a/1"), m.profile("b/2")
		m.sample(first, m.stack("f"), []int64{1})
		for i, p := range []pprofile.Profile{first, second} {
			p.SetOriginalPayloadFormat(format)
			p.OriginalPayload().FromRaw(payloads[i%len(payloads)])
		}
		all := encode(t, m.done(), pprof.EncodeOptions{PreferOriginalPayload: true})
		require.Len(t, all, 1)
		return all[0]
	}
	for name, payload := range map[string][]byte{"plain": original, "gzip": gzipped(t, original)} {
		got := build("pprof", payload)
		assert.Equal(t, original, got.Pprof, name)
		assert.Equal(t, 2, got.Profiles)
	}
	for name, got := range map[string]encoded{
		"another format": build("jfr", original),
		"broken":         build("pprof", gzipped(t, original)[:20]),
		"not a pprof":    build("pprof", []byte("goroutine profile: total 7")),
		"none":           build("pprof", nil),
		"of one only":    build("pprof", original, nil),
		"different ones": build("pprof", original, newPayload("other/1").bytes()),
	} {
		assert.Equal(t, []string{"b/2", "a/1"}, got.types(), name)
		assert.Equal(t, []string{"f [0 1]"}, got.samples(), name)
	}

	m := newMessage()
	p := m.profile("b/2")
	p.SetOriginalPayloadFormat("pprof")
	p.OriginalPayload().FromRaw(original)
	assert.Equal(t, []string{"b/2"}, encode(t, m.done(), pprof.EncodeOptions{})[0].types(), "not unless it is asked for")
}
