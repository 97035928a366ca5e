// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package dictionary

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestEqualityDecides fills tables with entries that differ in one field only. Among 300,000 of them, the index stores the
// same part of the hash for about ten pairs. Each entry must have its own index.
func TestEqualityDecides(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second or two")
	}
	attribute := func(set func(pcommon.Value, int32)) func(*Builder, int32) int32 {
		v := pcommon.NewValueEmpty()
		return func(b *Builder, i int32) int32 {
			if set(v, i); v.Type() == pcommon.ValueTypeBytes || v.Type() == pcommon.ValueTypeSlice || v.Type() == pcommon.ValueTypeMap {
				own := pcommon.NewValueEmpty() // the Builder refers to it
				v.CopyTo(own)
				return b.Attribute(1, 1, own)
			}
			return b.Attribute(1, 1, v)
		}
	}
	for name, add := range map[string]func(*Builder, int32) int32{
		"string": func(b *Builder, i int32) int32 { return b.String(strconv.Itoa(int(i))) },
		"bytes": func(b *Builder, i int32) int32 {
			return b.StringBytes(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		},
		"function name":        func(b *Builder, i int32) int32 { return b.Function(Function{Name: i}) },
		"function system name": func(b *Builder, i int32) int32 { return b.Function(Function{SystemName: i}) },
		"function file":        func(b *Builder, i int32) int32 { return b.Function(Function{Filename: i}) },
		"function line":        func(b *Builder, i int32) int32 { return b.Function(Function{StartLine: int64(i)}) },
		"mapping start":        func(b *Builder, i int32) int32 { return b.Mapping(Mapping{Start: uint64(i)}, nil) },
		"mapping limit":        func(b *Builder, i int32) int32 { return b.Mapping(Mapping{Limit: uint64(i)}, nil) },
		"mapping offset":       func(b *Builder, i int32) int32 { return b.Mapping(Mapping{Offset: uint64(i)}, nil) },
		"mapping file":         func(b *Builder, i int32) int32 { return b.Mapping(Mapping{Filename: i}, nil) },
		"mapping attribute":    func(b *Builder, i int32) int32 { return b.Mapping(Mapping{}, []int32{i}) },
		"address":              func(b *Builder, i int32) int32 { return b.Location(Location{Address: uint64(i)}, nil, nil) },
		"location mapping":     func(b *Builder, i int32) int32 { return b.Location(Location{Mapping: i}, nil, nil) },
		"location attribute":   func(b *Builder, i int32) int32 { return b.Location(Location{}, nil, []int32{i}) },
		"function of a line":   func(b *Builder, i int32) int32 { return b.Location(Location{}, []Line{{Function: i}}, nil) },
		"line":                 func(b *Builder, i int32) int32 { return b.Location(Location{}, []Line{{Line: int64(i)}}, nil) },
		"column":               func(b *Builder, i int32) int32 { return b.Location(Location{}, []Line{{Column: int64(i)}}, nil) },
		"stack":                func(b *Builder, i int32) int32 { return b.Stack([]int32{i}) },
		"trace": func(b *Builder, i int32) int32 {
			return b.Link(Link{TraceID: pcommon.TraceID{0: byte(i), 1: byte(i >> 8), 2: byte(i >> 16)}})
		},
		"span": func(b *Builder, i int32) int32 {
			return b.Link(Link{SpanID: pcommon.SpanID{0: byte(i), 1: byte(i >> 8), 2: byte(i >> 16)}})
		},
		"key":         func(b *Builder, i int32) int32 { return b.IntAttribute(i, 0, 1) },
		"unit":        func(b *Builder, i int32) int32 { return b.IntAttribute(0, i, 1) },
		"int":         func(b *Builder, i int32) int32 { return b.IntAttribute(1, 1, int64(i)) },
		"text":        func(b *Builder, i int32) int32 { return b.StringAttribute(1, strconv.Itoa(int(i))) },
		"text's key":  func(b *Builder, i int32) int32 { return b.StringBytesAttribute(i, []byte("text")) },
		"text's unit": func(b *Builder, i int32) int32 { return b.Attribute(1, i, pcommon.NewValueStr("text")) },
		"text in bytes": func(b *Builder, i int32) int32 {
			return b.StringBytesAttribute(1, strconv.AppendInt(nil, int64(i), 10))
		},
		"double": attribute(func(v pcommon.Value, i int32) { v.SetDouble(float64(i)) }),
		"binary": attribute(func(v pcommon.Value, i int32) {
			v.SetEmptyBytes().FromRaw(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		}),
		"in list": attribute(func(v pcommon.Value, i int32) { v.SetEmptySlice().AppendEmpty().SetInt(int64(i)) }),
		"in map":  attribute(func(v pcommon.Value, i int32) { v.SetEmptyMap().PutInt("a", int64(i)) }),
		"map key": attribute(func(v pcommon.Value, i int32) { v.SetEmptyMap().PutInt(strconv.Itoa(int(i)), 1) }),
	} {
		t.Run(name, func(t *testing.T) {
			b := New()
			for range 2 { // The second time, all are known.
				for i := range int32(300_000) {
					if index := add(b, i+1); index != i+1 {
						require.Equal(t, i+1, index, "entry %d is taken for another", i+1)
					}
				}
			}
		})
	}
}
