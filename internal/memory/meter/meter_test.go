// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMeter(t *testing.T) {
	var totals []int64
	limit := int64(1 << 20)
	errLimit := errors.New("limit")
	m := New(1000, func(total int64) error {
		totals = append(totals, total)
		if total > limit {
			return errLimit
		}
		return nil
	})
	for range 100_000 {
		require.NoError(t, m.Use(1))
	}
	assert.Equal(t, int64(101_000), m.Used())
	assert.GreaterOrEqual(t, totals[len(totals)-1], m.Used())
	assert.Less(t, len(totals), 10, "it reserves in steps")

	before := m.Used()
	require.NoError(t, m.Use(500_000))
	require.NoError(t, m.Need(300_000))
	m.Set(before)
	assert.Equal(t, before, m.Used())
	m.Set(before + 1)
	assert.Equal(t, before, m.Used(), "Set only reduces")

	require.ErrorIs(t, m.Need(2<<20), errLimit)
	require.ErrorIs(t, m.Need(0), errLimit, "the first error stays")
	assert.Equal(t, before, m.Used())
	m.Clear()
	require.NoError(t, m.Need(0))
	other := errors.New("other")
	m.Fail(other)
	m.Fail(errLimit)
	assert.Equal(t, other, m.Err())

	calls, reserved := 0, int64(0)
	ended := New(0, func(total int64) error {
		calls, reserved = calls+1, total
		return nil
	})
	inner := New(0, ended.Reserve)
	require.NoError(t, inner.Need(1000))
	assert.Equal(t, inner.granted, reserved, "only one meter reserves ahead")
	for range 10 * workPerCall {
		require.NoError(t, inner.Advance(1))
	}
	assert.Greater(t, calls, 10, "the caller can end work that needs no more memory")

	table := int64(0)
	beside := New(0, func(total int64) error {
		reserved = total
		return nil
	})
	beside.Beside(func() int64 { return table })
	require.NoError(t, beside.Use(1000))
	table = 1 << 20
	require.NoError(t, beside.Need(0))
	assert.GreaterOrEqual(t, reserved, table+1000, "the table has grown")
	assert.Equal(t, int64(1000), beside.Used())
	table = 2 << 20
	require.NoError(t, beside.Continue())
	assert.Equal(t, table+1000, reserved)

	none := Meter{}
	require.NoError(t, none.Use(1<<60))
}
