// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestTextOfNumbersThatJSONLacks(t *testing.T) {
	value := pcommon.NewValueSlice()
	value.Slice().AppendEmpty().SetDouble(math.NaN())
	value.Slice().AppendEmpty().SetEmptyMap().PutDouble("limit", math.Inf(1))
	value.Slice().AppendEmpty().SetInt(7)
	b := New()
	a := b.AttributeAt(b.Attribute(b.String("key"), 0, value))
	assert.JSONEq(t, `["NaN",{"limit":"Infinity"},7]`, a.AsString())
	assert.True(t, math.IsNaN(value.Slice().At(0).Double()), "the value itself stays")
}
