// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

func TestInstance(t *testing.T) {
	one := Entry{Attributes: []Attribute{{"a", "bc"}}}
	other := Entry{Attributes: []Attribute{{"ab", "c"}}}
	assert.NotEqual(t, one.Instance(), other.Instance())
}

// An entry owns its text, and does not keep the source of the text alive.
func TestPack(t *testing.T) {
	request := string(bytes.Repeat([]byte("x"), 1<<20)) + "tenantservicetypekeyvaluelivebytes"
	cut := func(from, to int) string { return request[1<<20:][from:to] }
	e := Entry{
		Tenant: cut(0, 6), Service: cut(6, 13), Type: cut(13, 17),
		Attributes: []Attribute{{cut(17, 20), cut(20, 25)}},
		Gauges:     []Gauge{{1, cut(25, 29), cut(29, 34)}},
		Compressed: make([]byte, 100, 1000),
	}
	cost := e.pack()
	assert.Equal(t, []string{"tenant", "service", "type", "key", "value"},
		[]string{e.Tenant, e.Service, e.Type, e.Attributes[0].Name, e.Attributes[0].Value})
	assert.Equal(t, []Gauge{{1, "live", "bytes"}}, e.Gauges)
	assert.NotSame(t, unsafe.StringData(cut(25, 29)), unsafe.StringData(e.Gauges[0].Type))
	assert.NotSame(t, unsafe.StringData(cut(0, 6)), unsafe.StringData(e.Tenant))
	assert.GreaterOrEqual(t, cost, int64(1000+entryOverhead+attributeOverhead+gaugeOverhead+34), "the cost includes all memory")
	value, found := e.Attribute("key")
	assert.Equal(t, "value", value)
	assert.True(t, found)
	_, found = e.Attribute("kex")
	assert.False(t, found)
}

func TestCompress(t *testing.T) {
	for _, size := range []int{0, 1, 1000, 3 << 20} {
		payload := bytes.Repeat([]byte("abcdefgh"), size)
		compressed := Compress(payload)
		back, err := inflate.Append(nil, compressed, len(payload))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(payload, back), size)
		assert.LessOrEqual(t, cap(compressed), len(compressed)*5/4+64, "no spare capacity")
	}
}
