// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package summary

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func plain(tb testing.TB, types ...*profile.ValueType) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, (&profile.Profile{SampleType: types}).WriteUncompressed(&out))
	return out.Bytes()
}

func TestOf(t *testing.T) {
	head, err := Of(plain(t, &profile.ValueType{Type: "contentions", Unit: "count"}, &profile.ValueType{Type: "delay", Unit: "nanoseconds"}))
	require.NoError(t, err)
	assert.Equal(t, Head{Types: []Type{{"contentions", "count"}, {"delay", "nanoseconds"}}}, head)
	head, err = Of(nil)
	require.NoError(t, err)
	assert.Empty(t, head.Types)
}

func TestCPU(t *testing.T) {
	cpu, samples, wall := Type{"cpu", "nanoseconds"}, Type{"samples", "count"}, Type{"wall", "nanoseconds"}
	for _, tt := range []struct {
		types  []Type
		period Type
		want   bool
	}{
		{types: []Type{samples, cpu}, want: true},
		{types: []Type{samples}, period: cpu, want: true},
		{types: []Type{samples}, period: wall},
		{types: []Type{samples, wall}, period: wall},
		{types: []Type{wall}, period: cpu},
		{},
	} {
		p := profile.Profile{}
		for _, each := range tt.types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: each.Name, Unit: each.Unit})
		}
		if tt.period != (Type{}) {
			p.PeriodType = &profile.ValueType{Type: tt.period.Name, Unit: tt.period.Unit}
		}
		var out bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&out))
		head, err := Of(out.Bytes())
		require.NoError(t, err)
		assert.Equal(t, tt.want, head.CPU(), "%v", tt)
	}
}

func TestPGO(t *testing.T) {
	for _, tt := range []struct {
		sampleType string
		startLine  int64
		want       bool
	}{{"cpu", 7, true}, {"cpu", 0, false}, {"wall", 7, false}} {
		p := profile.Profile{
			SampleType: []*profile.ValueType{{Type: tt.sampleType, Unit: "nanoseconds"}},
			Function:   []*profile.Function{{ID: 1, Name: "a"}, {ID: 2, Name: "b", StartLine: tt.startLine}},
		}
		var out bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&out))
		head, err := Of(out.Bytes())
		require.NoError(t, err)
		assert.Equal(t, tt.want, head.PGO(), "%v", tt)
	}
	assert.False(t, hasStartLine([]byte{0xff}), "a function that is broken")
}

func TestIsGauge(t *testing.T) {
	for _, each := range profiletest.SampleTypes() {
		assert.Equal(t, each.Gauge, Type{each.Name, each.Unit}.IsGauge(), each.Name)
	}
}

func TestOfRefuses(t *testing.T) {
	whole := plain(t, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	_, err := Of(whole[:len(whole)-1])
	require.ErrorContains(t, err, "cannot read the head")
	_, err = Of([]byte{0x0a, 2, 8, 9})
	require.ErrorIs(t, err, errNoString)
	_, err = Of(bytes.Repeat([]byte{0x0a, 0}, maxSampleTypes+1))
	require.ErrorContains(t, err, "more than 256")
}

func FuzzOf(f *testing.F) {
	f.Add(plain(f, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}))
	f.Add([]byte{0x0a, 2, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		head, err := Of(data)
		if err == nil {
			require.LessOrEqual(t, len(head.Types), maxSampleTypes)
		}
	})
}
