// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge_test

import (
	"errors"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// traced has three samples: of two traces, one of them with another span, and one whose trace is a number.
func traced() *profile.Profile {
	p := simple([]int64{1}, "a")
	location := p.Sample[0].Location
	p.Sample[0].Label = map[string][]string{"trace_id": {"t1"}, "span_id": {"s1"}}
	p.Sample = append(p.Sample,
		&profile.Sample{Location: location, Value: []int64{10}, Label: map[string][]string{"trace_id": {"t1"}, "span_id": {"s2"}}},
		&profile.Sample{Location: location, Value: []int64{100}, Label: map[string][]string{"trace_id": {"t2"}, "other": {"t1"}}},
		&profile.Sample{Location: location, Value: []int64{1000}, NumLabel: map[string][]int64{"trace_id": {1}}},
	)
	return p
}

// selects returns a selector of a key, written with its operator.
func selects(t *testing.T, key, operator, text string) selector.Selector {
	t.Helper()
	s, err := selector.New(key, text, operator[0] == '!', operator[1] == '~')
	require.NoError(t, err)
	return s
}

// Only the samples with all labels are added up, from both sides of a difference.
func TestOnly(t *testing.T) {
	payload := raw(t, traced())
	for name, test := range map[string]struct {
		only    []selector.Selector
		samples int
		total   int64
	}{
		"all":            {nil, 4, 1111},
		"a trace":        {[]selector.Selector{{Key: "trace_id", Text: "t1"}}, 2, 11},
		"a span of it":   {[]selector.Selector{{Key: "trace_id", Text: "t1"}, {Key: "span_id", Text: "s2"}}, 1, 10},
		"of another":     {[]selector.Selector{{Key: "trace_id", Text: "t2"}, {Key: "span_id", Text: "s2"}}, 0, 0},
		"another key":    {[]selector.Selector{{Key: "other", Text: "t2"}}, 0, 0},
		"part of a name": {[]selector.Selector{{Key: "trace_id", Text: "t"}}, 0, 0},
		"nowhere":        {[]selector.Selector{{Key: "trace_id", Text: "x"}}, 0, 0},
		"not a trace":    {[]selector.Selector{selects(t, "trace_id", "!=", "t1")}, 2, 1100},
		"no other":       {[]selector.Selector{selects(t, "other", "!=", "t1")}, 3, 1011},
		"any trace":      {[]selector.Selector{selects(t, "trace_id", "=~", "t[0-9]|1")}, 4, 1111},
		"a span":         {[]selector.Selector{selects(t, "span_id", "=~", ".+"), selects(t, "trace_id", "!=", "t2")}, 2, 11},
		"without a span": {[]selector.Selector{selects(t, "span_id", "!~", ".+")}, 2, 1100},
		"numbers":        {[]selector.Selector{selects(t, "trace_id", "=~", "[0-9]")}, 1, 1000},
		"no key":         {[]selector.Selector{selects(t, "nowhere", "=~", ".+")}, 0, 0},
		"no key is so":   {[]selector.Selector{selects(t, "nowhere", "!~", ".+"), selects(t, "nowhere", "=~", ".*")}, 4, 1111},
	} {
		m := pprofmerge.New()
		m.Only = test.only
		require.NoError(t, m.Add(payload, nil))
		assert.Equal(t, test.samples, m.Samples(), name)
		count, err := pprofmerge.Count(payload, test.only, nil)
		require.NoError(t, err)
		assert.Equal(t, test.samples, count, name)
		if test.samples == 0 {
			continue
		}
		got, err := profile.ParseUncompressed(m.Append(nil))
		require.NoError(t, err)
		sum := int64(0)
		for _, s := range got.Sample {
			sum += s.Value[0]
		}
		assert.Equal(t, test.total, sum, name)
	}
	m := pprofmerge.New()
	m.Only = []selector.Selector{{Key: "trace_id", Text: "t1"}}
	require.NoError(t, m.Add(payload, nil))
	require.NoError(t, m.Subtract(payload, nil))
	assert.Equal(t, 4, m.Samples())
}

func TestCountRefuses(t *testing.T) {
	_, err := pprofmerge.Count([]byte{0x0a, 0xff, 't'}, []selector.Selector{{Key: "k", Text: "t"}}, nil)
	require.ErrorIs(t, err, pprofwire.ErrMalformed)
	_, err = pprofmerge.Count(raw(t, traced()), []selector.Selector{{Key: "k", Text: "t1"}}, func(int64) error { return errors.ErrUnsupported })
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// A number is wanted by its digits.
func TestOnlyNumbers(t *testing.T) {
	payload := raw(t, traced())
	count, err := pprofmerge.Count(payload, []selector.Selector{{Key: "trace_id", Text: "1"}}, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, count)
	for _, other := range []selector.Selector{{Key: "trace_id", Text: "2"}, {Key: "other", Text: "1"}, {Key: "trace_id", Text: "01"}} {
		count, err := pprofmerge.Count(payload, []selector.Selector{other}, nil)
		require.NoError(t, err)
		assert.Zero(t, count, other)
	}
}
