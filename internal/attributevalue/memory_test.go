// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// The estimate covers all parts, whatever their depth.
func TestMemory(t *testing.T) {
	for name, levels := range map[string]int{"wide": 10, "deep": 10*MaxDepth + 3} {
		t.Run(name, func(t *testing.T) {
			memorytest.CheckHeld(t, memorytest.Most, 20, func() (pcommon.Value, int64) {
				value := pcommon.NewValueSlice()
				for range 1000 {
					value.Slice().AppendEmpty().SetStr("text")
					value.Slice().AppendEmpty().SetEmptyMap().PutInt("key", 1)
				}
				for range levels {
					outer := pcommon.NewValueSlice()
					value.MoveTo(outer.Slice().AppendEmpty())
					value = outer
				}
				return value, int64(Memory(value))
			})
		})
	}
}

// The estimate of a wide value does not need memory of its own, since nobody reserves that.
func TestMemoryTakesNone(t *testing.T) {
	value := pcommon.NewValueSlice()
	for range 10_000 {
		value.Slice().AppendEmpty().SetEmptySlice().AppendEmpty().SetEmptyMap()
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { Memory(value) }))
}
