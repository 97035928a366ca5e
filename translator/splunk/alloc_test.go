// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package splunk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/plog"
)

// The race detector empties pools at random.

// TestTextTakesMemoryForNewStringsOnly: parsing a text allocates nothing. A text that is ten times as long, with the same
// frames, needs no more allocations than its longer stack does.
func TestTextTakesMemoryForNewStringsOnly(t *testing.T) {
	body := func(times int) string {
		return "\"main\" #1\n\n" + strings.Repeat("\tat com.acme.Order.charge(Order.java:12)\n\tat com.acme.Cart.pay(Cart.java:7)\n", times)
	}
	long := []byte(body(1000))
	var x text
	assert.Zero(t, testing.AllocsPerRun(20, func() { x.parse(long, grammarJava, maxStringBytes, DefaultLimits().FramesPerStack) }))

	decoder := NewDecoder(Options{})
	allocations := func(times int) float64 {
		r := newRequest("java")
		r.addText(body(times))
		return testing.AllocsPerRun(20, func() { decoder.Decode(r.logs, received, nil) })
	}
	short := allocations(100)
	assert.LessOrEqual(t, allocations(1000), short+5)
	assert.Less(t, short, 200.0)
}

// TestOrdinaryLogsTakeNoMemory: logs without a profiling record cost no allocation.
func TestOrdinaryLogsTakeNoMemory(t *testing.T) {
	logs := plog.NewLogs()
	for i := range 100 {
		resource := logs.ResourceLogs().AppendEmpty()
		resource.Resource().Attributes().PutInt("number", int64(i))
		resource.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("ordinary")
	}
	decoder := NewDecoder(Options{})
	assert.Less(t, testing.AllocsPerRun(20, func() { decoder.Decode(logs, received, nil) }), 20.0)
}

// TestPprofTakesMemoryForTheMessageOnly: events of equal identity need no allocations of their own.
func TestPprofTakesMemoryForTheMessageOnly(t *testing.T) {
	decoder := NewDecoder(Options{})
	allocations := func(events int) float64 {
		p := newPayload("")
		id := p.location("f", "a.js", 1)
		for i := range events {
			p.sample([]uint64{id}, nil, at(int64(i+1)), period(1), str("trace_id", someTrace), str("span_id", someSpan))
		}
		r := newRequest("nodejs")
		r.addPprof(p.body(t))
		return testing.AllocsPerRun(20, func() { decoder.Decode(r.logs, received, nil) })
	}
	short := allocations(100)
	assert.LessOrEqual(t, allocations(10_000), short+5)
}
