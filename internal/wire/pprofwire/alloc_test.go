// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pprofwire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// TestReadAllocatesNothing: for the second payload the tables are large enough.
func TestReadAllocatesNothing(t *testing.T) {
	for _, file := range profiletest.OwnPprofs(t) {
		raw, _, err := inflate.Into(nil, file.Bytes(t), 1<<30, nil)
		require.NoError(t, err)
		var p Profile
		require.NoError(t, p.Read(raw, anySize))
		allocations := testing.AllocsPerRun(5, func() {
			if err := p.Read(raw, anySize); err != nil {
				t.Error(err)
			}
		})
		assert.Zero(t, allocations, file.Name)
	}
}

// TestWriteAllocatesNothing: with a large enough destination, the Append functions allocate nothing.
func TestWriteAllocatesNothing(t *testing.T) {
	values, comments, lines := make([]int64, 100), make([]uint32, 200), make([]Line, 40)
	dst, ids, label := make([]byte, 0, 10_000), make([]byte, 0, 10_000), make([]byte, 0, 10_000)
	allocations := testing.AllocsPerRun(10, func() {
		ids = ids[:0]
		for i := range uint32(200) {
			ids = AppendID(ids, i)
		}
		label = AppendLabel(label[:0], Label{Key: 1, Num: -1})
		dst = AppendSampleType(dst[:0], ValueType{1, 2})
		dst = AppendSample(dst, ids, values, label)
		dst = AppendMapping(dst, Mapping{ID: 1 << 60})
		dst = AppendLocation(dst, Location{ID: 1}, lines)
		dst = AppendFunction(dst, Function{ID: 1, Name: 300})
		dst = AppendString(dst, "a string")
		dst = AppendPeriodType(dst, ValueType{3, 4})
		dst = AppendHeader(dst, Header{TimeNanos: 5, Comments: comments})
	})
	assert.Zero(t, allocations)
	assert.NotEmpty(t, dst)
}
