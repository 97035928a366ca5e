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

// Only the samples with all labels are added up, from both sides of a difference.
func TestOnly(t *testing.T) {
	payload := raw(t, traced())
	for name, test := range map[string]struct {
		only    []pprofmerge.Label
		samples int
		total   int64
	}{
		"all":            {nil, 4, 1111},
		"a trace":        {[]pprofmerge.Label{{Key: "trace_id", Text: "t1"}}, 2, 11},
		"a span of it":   {[]pprofmerge.Label{{Key: "trace_id", Text: "t1"}, {Key: "span_id", Text: "s2"}}, 1, 10},
		"of another":     {[]pprofmerge.Label{{Key: "trace_id", Text: "t2"}, {Key: "span_id", Text: "s2"}}, 0, 0},
		"another key":    {[]pprofmerge.Label{{Key: "other", Text: "t2"}}, 0, 0},
		"part of a name": {[]pprofmerge.Label{{Key: "trace_id", Text: "t"}}, 0, 0},
		"nowhere":        {[]pprofmerge.Label{{Key: "trace_id", Text: "x"}}, 0, 0},
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
	m.Only = []pprofmerge.Label{{Key: "trace_id", Text: "t1"}}
	require.NoError(t, m.Add(payload, nil))
	require.NoError(t, m.Subtract(payload, nil))
	assert.Equal(t, 4, m.Samples())
}

func TestCountRefuses(t *testing.T) {
	_, err := pprofmerge.Count([]byte{0x0a, 0xff, 't'}, []pprofmerge.Label{{Key: "k", Text: "t"}}, nil)
	require.ErrorIs(t, err, pprofwire.ErrMalformed)
	_, err = pprofmerge.Count(raw(t, traced()), []pprofmerge.Label{{Key: "k", Text: "t1"}}, func(int64) error { return errors.ErrUnsupported })
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// A number is wanted by its digits.
func TestOnlyNumbers(t *testing.T) {
	payload := raw(t, traced())
	count, err := pprofmerge.Count(payload, []pprofmerge.Label{{Key: "trace_id", Text: "1"}}, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, count)
	for _, other := range []pprofmerge.Label{{Key: "trace_id", Text: "2"}, {Key: "other", Text: "1"}, {Key: "trace_id", Text: "01"}} {
		count, err := pprofmerge.Count(payload, []pprofmerge.Label{other}, nil)
		require.NoError(t, err)
		assert.Zero(t, count, other)
	}
}
