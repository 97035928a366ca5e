// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The estimate is the sum of all parts, whatever their depth.
func TestMemory(t *testing.T) {
	value := pcommon.NewValueSlice()
	value.Slice().AppendEmpty().SetStr("text")
	value.Slice().AppendEmpty().SetEmptyMap().PutInt("key", 1)
	want := listBytes + ValueBytes + stringBytes + 4 + ValueBytes + listBytes + KeyValueBytes + 3 + 8
	assert.Equal(t, want, Memory(value))

	const levels = 10*MaxDepth + 3
	for range levels {
		outer := pcommon.NewValueSlice()
		value.CopyTo(outer.Slice().AppendEmpty())
		value = outer
	}
	assert.Equal(t, want+levels*(listBytes+ValueBytes), Memory(value))
}

// The estimate of a wide value does not need memory of its own, since nobody reserves that.
func TestMemoryTakesNone(t *testing.T) {
	value := pcommon.NewValueSlice()
	for range 10_000 {
		value.Slice().AppendEmpty().SetEmptySlice().AppendEmpty().SetEmptyMap()
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { Memory(value) }))
}
