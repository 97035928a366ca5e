// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package dictionary

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestLookUpsTakeNoMemory: a lookup of an existing entry allocates nothing.
func TestLookUpsTakeNoMemory(t *testing.T) {
	b := New()
	fillEach(b, 20)
	list, bytes := value(t, []any{"a", int64(1)}), value(t, []byte("abc"))
	double := value(t, 2.5)
	text, lines, attributes, stack := []byte("xxx"), []Line{{Function: 3}}, []int32{3}, []int32{3, 3}
	b.StringBytesAttribute(1, text)
	for _, v := range []pcommon.Value{list, bytes, double} {
		b.Attribute(1, 1, v)
	}
	b.TrueAttribute(1)
	before := b.Len()
	for name, find := range map[string]func(){
		"string":           func() { b.String("xxx") },
		"bytes":            func() { b.StringBytes(text) },
		"function":         func() { b.Function(Function{Name: 3}) },
		"mapping":          func() { b.Mapping(Mapping{Start: 3}, attributes) },
		"location":         func() { b.Location(Location{Address: 3}, lines, attributes) },
		"stack":            func() { b.Stack(stack) },
		"link":             func() { b.Link(Link{SpanID: pcommon.SpanID{3}}) },
		"string attribute": func() { b.StringAttribute(3, "text") },
		"bytes attribute":  func() { b.StringBytesAttribute(1, text) },
		"int attribute":    func() { b.IntAttribute(3, 0, 5) },
		"bool attribute":   func() { b.TrueAttribute(1) },
		"double":           func() { b.Attribute(1, 1, double) },
		"list":             func() { b.Attribute(1, 1, list) },
	} {
		assert.Zero(t, testing.AllocsPerRun(10, find), name)
	}
	assert.Equal(t, before, b.Len(), "all of it was there")
}
