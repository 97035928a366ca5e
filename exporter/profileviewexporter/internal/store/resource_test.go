// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// The memory to make a resource is reserved, and its key is short.
func TestResourceMemory(t *testing.T) {
	const many, long = 20_000, 1 << 20
	for name, fill := range map[string]func(pcommon.Map){
		"none": func(pcommon.Map) {},
		"text": func(m pcommon.Map) { m.PutStr("a", strings.Repeat("a", long)) },
		"invalid texts": func(m pcommon.Map) {
			m.PutStr("a", strings.Repeat("\xffa", long))
			m.PutStr("service.name", strings.Repeat("\xffa", long))
		},
		"long key": func(m pcommon.Map) { m.PutStr(strings.Repeat("\xffa", long), "v") },
		"attributes": func(m pcommon.Map) {
			for i := range many {
				m.PutStr(strconv.Itoa(i), "v")
			}
		},
		"one name": func(m pcommon.Map) {
			for i := range many {
				m.PutStr(string(rune(0x4e00+i)), "v")
			}
		},
		"numbers": func(m pcommon.Map) {
			for i := range many {
				m.PutInt(strconv.Itoa(i), int64(i)<<40)
			}
		},
		"bytes": func(m pcommon.Map) { m.PutEmptyBytes("service.name").FromRaw(make([]byte, 48<<10)) },
		"list": func(m pcommon.Map) {
			list := m.PutEmptySlice("service.name")
			for range many {
				list.AppendEmpty().SetStr("\x01")
			}
		},
		"wide": func(m pcommon.Map) {
			one := m.PutEmptyMap("service.name")
			one.EnsureCapacity(10 * many)
			raw := make(map[string]any, 10*many)
			for i := range 10 * many {
				raw[strconv.Itoa(i)] = "\x01"
			}
			_ = one.FromRaw(raw)
		},
		"maps": func(m pcommon.Map) {
			for i := range 100 {
				one := m.PutEmptyMap(strconv.Itoa(i))
				for j := range 100 {
					one.PutDouble(strconv.Itoa(j), 0.5)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			attributes := pcommon.NewMap()
			fill(attributes)
			memorytest.CheckCovered(t, func(reserve func(int64) error) error {
				if err := reserve(ResourceMemory(attributes)); err != nil {
					return err
				}
				assert.Len(t, NewResource("", attributes).Key, 32)
				return nil
			})
		})
	}
}
