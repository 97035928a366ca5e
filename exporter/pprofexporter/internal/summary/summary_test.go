// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package summary

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func plain(tb testing.TB, types ...*profile.ValueType) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, (&profile.Profile{SampleType: types}).WriteUncompressed(&out))
	return out.Bytes()
}

func TestSampleTypes(t *testing.T) {
	types, err := SampleTypes(plain(t, &profile.ValueType{Type: "contentions", Unit: "count"}, &profile.ValueType{Type: "delay", Unit: "nanoseconds"}))
	require.NoError(t, err)
	assert.Equal(t, []Type{{"contentions", "count"}, {"delay", "nanoseconds"}}, types)
	types, err = SampleTypes(nil)
	require.NoError(t, err)
	assert.Empty(t, types)
}

func TestSampleTypesRefuses(t *testing.T) {
	whole := plain(t, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	_, err := SampleTypes(whole[:len(whole)-1])
	require.ErrorContains(t, err, "cannot read the head")
	_, err = SampleTypes([]byte{0x0a, 2, 8, 9})
	require.ErrorIs(t, err, errNoString)
	_, err = SampleTypes(bytes.Repeat([]byte{0x0a, 0}, 65))
	require.ErrorContains(t, err, "more than 64")
}

func FuzzSampleTypes(f *testing.F) {
	f.Add(plain(f, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}))
	f.Add([]byte{0x0a, 2, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		types, err := SampleTypes(data)
		if err == nil {
			require.LessOrEqual(t, len(types), maxSampleTypes)
		}
	})
}
