// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// TestValueMemory: the estimate covers all parts, whatever their depth.
func TestValueMemory(t *testing.T) {
	for name, levels := range map[string]int{"wide": 10, "deep": 10*attributevalue.MaxDepth + 3} {
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
				return value, int64(sizeOfValue(value).memory)
			})
		})
	}
}

// TestSizeTakesNoMemory: the measurement of a wide value does not need memory of its own, since nobody reserves that.
func TestSizeTakesNoMemory(t *testing.T) {
	value := pcommon.NewValueSlice()
	for range 10_000 {
		value.Slice().AppendEmpty().SetEmptySlice().AppendEmpty().SetEmptyMap()
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { sizeOfValue(value) }))
}

// TestValueBytes compares with the size that pdata computes of an attribute with the value.
func TestValueBytes(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, raw := range map[string]any{
		"empty": nil, "text": "a", "no text": "", "long text": long, "true": true, "false": false, "int": int64(1 << 40),
		"negative int": int64(-1), "zero": int64(0), "double": 1.5, "bytes": []byte(long), "no bytes": []byte{},
		"list": []any{"a", nil, int64(300), long}, "no items": []any{}, "map": map[string]any{"": "a", "key": []any{false}},
		"no pairs": map[string]any{},
	} {
		t.Run(name, func(t *testing.T) {
			resource := pprofile.NewResourceProfiles()
			v := resource.Resource().Attributes().PutEmpty("k")
			require.NoError(t, v.FromRaw(raw))
			want := (&pprofile.ProtoMarshaler{}).ResourceProfilesSize(resource)
			assert.Equal(t, want, FieldBytes(FieldBytes(FieldBytes(1)+FieldBytes(sizeOfValue(v).protobuf))))
		})
	}
}
