// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pprof_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// measured is the memory that one translation used and reserved.
type measured struct {
	asked     int64 // the highest total
	allocated int64 // all allocations, including garbage
	held      int64 // size of the message
	stats     pprof.DecodeStats
	err       error
}

// measure translates with a new Decoder, so that it cannot reuse memory.
func measure(t *testing.T, options pprof.DecodeOptions, payload []byte) (m measured) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	_, _, _ = pprof.NewDecoder(options).Decode(payload, pprof.Source{}) // allocates what all translations share
	decoder := pprof.NewDecoder(options)
	emptyPools()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pd, stats, err := decoder.Decode(payload, pprof.Source{Reserve: func(n int64) error {
		assert.Greater(t, n, m.asked, "the total never decreases")
		m.asked = n
		return nil
	}})
	runtime.ReadMemStats(&after)
	m.allocated = int64(after.TotalAlloc - before.TotalAlloc)
	emptyPools()
	runtime.ReadMemStats(&after)
	m.held = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	m.stats, m.err = stats, err
	runtime.KeepAlive(pd)
	runtime.KeepAlive(payload)
	return m
}

// emptyPools runs the garbage collector until the pools are empty.
func emptyPools() {
	for range 4 {
		runtime.GC()
	}
}

// TestMemoryOfRealProfiles: at least the memory that is used is reserved, and not much more.
func TestMemoryOfRealProfiles(t *testing.T) {
	files := profiletest.OwnPprofs(t)
	if !testing.Short() {
		files = append(files, profiletest.CorpusPprofs(t, "real", "synth")...)
	}
	for _, file := range files {
		m := measure(t, pprof.DecodeOptions{}, file.Bytes(t))
		if m.err != nil {
			continue
		}
		const slack = 64 << 10 // pools of other packages
		const fixed = 8 << 10  // an empty message, and the runtime
		assert.GreaterOrEqual(t, m.asked+slack, m.allocated, file.Name)
		assert.GreaterOrEqual(t, m.stats.MessageBytes+fixed, m.held*95/100, file.Name)
		if m.allocated > 1<<20 {
			assert.LessOrEqual(t, m.asked, 3*m.allocated, file.Name)
			assert.LessOrEqual(t, m.stats.MessageBytes, 2*m.held, file.Name)
		}
	}
}

type wire []byte

func (w wire) number(field protowire.Number, v uint64) wire {
	return protowire.AppendVarint(protowire.AppendTag(w, field, protowire.VarintType), v)
}

func (w wire) message(field protowire.Number, content wire) wire {
	return protowire.AppendBytes(protowire.AppendTag(w, field, protowire.BytesType), content)
}

func (w wire) times(n int) wire { return bytes.Repeat(w, n) }

func (w wire) with(other wire) wire { return append(append(wire{}, w...), other...) }

// each joins n messages of a field.
func each(field protowire.Number, n int, content func(i uint64) wire) (w wire) {
	for i := range uint64(n) {
		w = w.message(field, content(i))
	}
	return w
}

// ids returns packed ids from 1 to n.
func ids(n int) (w wire) {
	for i := range n {
		w = protowire.AppendVarint(w, uint64(i+1))
	}
	return w
}

// hostileWires are payloads with many small entries of one kind, about a megabyte each.
func hostileWires() map[string]wire {
	const n = 200_000
	text := wire{}.message(6, nil).message(6, wire("a"))
	types := wire{}.message(1, wire{}.number(1, 1))
	one := wire{}.message(1, wire{1}).message(2, wire{1})
	id := func(i uint64) wire { return wire{}.number(1, i+1) }
	location := wire{}.message(4, id(0))
	start := text.with(types)
	all := ids(16_000)
	labels := func(n int, label func(i uint64) wire) wire {
		return each(2, n/500, func(s uint64) wire {
			return one.with(each(3, 500, func(i uint64) wire { return label(s*500 + i) }))
		})
	}
	return map[string]wire{
		"empty samples":          start.with(wire{}.message(2, nil).times(n)),
		"samples":                start.with(location).with(wire{}.message(2, one).times(n)),
		"samples of 200 types":   text.with(types.times(200)).with(wire{}.message(2, wire{}.message(2, wire{1}.times(200))).times(4000)),
		"stacks":                 start.with(each(4, 16_000, id)).with(each(2, 50, func(i uint64) wire { return wire{}.message(1, all[i:]).message(2, wire{1}) })),
		"unpacked stacks":        start.with(location).with(wire{}.message(2, wire{}.number(1, 1).times(10_000).message(2, wire{1})).times(30)),
		"locations":              start.with(each(4, 16_000, id)).with(wire{}.message(2, wire{}.message(1, all).message(2, wire{1}))),
		"locations of large ids": start.with(each(4, n, func(i uint64) wire { return id(i * 1000) })),
		"lines":                  start.with(wire{}.message(4, id(0).with(wire{}.message(4, nil).times(4000)))).with(wire{}.message(2, one)),
		"lines of nothing":       start.with(each(4, 200, func(i uint64) wire { return id(i).with(wire{}.message(4, nil).times(4000)) })),
		"functions":              start.with(each(5, n, id)),
		"mappings":               start.with(each(3, 60_000, id)),
		"mappings that are used": start.with(each(3, 16_000, func(i uint64) wire { return id(i).number(2, i).number(6, 1) })).
			with(each(4, 16_000, func(i uint64) wire { return id(i).number(2, i+1) })).
			with(wire{}.message(2, wire{}.message(1, all).message(2, wire{1}))),
		"strings":           start.with(wire{}.message(6, nil).times(n)).with(wire{}.message(2, wire{}.message(2, wire{1}))),
		"comments":          start.with(wire{}.message(13, wire{1}.times(10_000))),
		"labels":            start.with(location).with(labels(n/10, func(uint64) wire { return wire{}.number(1, 1) })),
		"labels of numbers": start.with(location).with(labels(n, func(i uint64) wire { return wire{}.number(1, 1).number(3, i) })),
		"labels of keys": start.with(location).with(each(6, n, func(i uint64) wire { return wire(strconv.FormatUint(i, 10)) })).
			with(labels(n, func(i uint64) wire { return wire{}.number(1, i+2).number(3, i) })),
		"labels of texts": start.with(location).with(each(6, n, func(i uint64) wire { return wire(strconv.FormatUint(i, 10)) })).
			with(labels(n, func(i uint64) wire { return wire{}.number(1, i+2).number(2, i+2) })),
		"links": start.with(location).message(6, wire("trace_id")).message(6, wire("span_id")).
			with(each(6, 50_000, func(i uint64) wire { return wire(fmt.Sprintf("%032x", i+1)) })).
			with(each(2, 50_000, func(i uint64) wire {
				return one.message(3, wire{}.number(1, 2).number(2, i+4)).message(3, wire{}.number(1, 3).number(2, 4))
			})),
		"bytes that are no text": start.message(6, wire("\xff ").times(100_000)).with(location).
			with(each(6, 50_000, func(i uint64) wire { return wire(fmt.Sprint("\xff", i)) })).
			with(each(2, 100, func(s uint64) wire {
				return one.with(each(3, 500, func(i uint64) wire { return wire{}.number(1, 1).number(2, 2+s*500+i) }))
			})),
		"a long text under many keys": start.message(6, wire("x").times(1<<20)).with(location).
			with(each(6, 40, func(i uint64) wire { return wire(strconv.FormatUint(i, 10)) })).
			message(2, one.with(each(3, 40, func(i uint64) wire { return wire{}.number(1, 3+i).number(2, 2) }))),
		"unknown fields": start.with(wire{}.number(99, 1).times(n)),
	}
}

// TestMemoryOfHostilePayloads: at least the memory that is used is reserved, for many entries of each kind: plain,
// compressed and nested.
func TestMemoryOfHostilePayloads(t *testing.T) {
	for name, raw := range hostileWires() {
		t.Run(name, func(t *testing.T) {
			zipped, err := pprof.AppendGzip(nil, raw, 6)
			require.NoError(t, err)
			twice, err := pprof.AppendGzip(nil, zipped, 6)
			require.NoError(t, err)
			for form, payload := range map[string][]byte{"plain": raw, "gzip": zipped, "twice": twice} {
				m := measure(t, pprof.DecodeOptions{}, payload)
				require.NoError(t, m.err, form)
				assert.GreaterOrEqual(t, m.asked, m.allocated-1<<20, form)                 // the gzip reader has its own memory
				assert.GreaterOrEqual(t, m.stats.MessageBytes, m.held*95/100-16<<10, form) // the runtime allocates as well
			}
		})
	}
}

// TestNothingIsAllocatedUnreserved: a translation that is refused at any point has not used more than it reserved.
func TestNothingIsAllocatedUnreserved(t *testing.T) {
	none := errors.New("no more")
	for name, raw := range hostileWires() {
		payload, err := pprof.AppendGzip(nil, raw, 6)
		require.NoError(t, err)
		all := measure(t, pprof.DecodeOptions{}, payload).asked
		for part := range int64(5) {
			allowed := all * part / 5
			decoder := pprof.NewDecoder(pprof.DecodeOptions{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := decoder.Decode(payload, pprof.Source{Reserve: func(n int64) error {
				if n > allowed {
					return none
				}
				return nil
			}})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, none, name)
			assert.LessOrEqual(t, int64(after.TotalAlloc-before.TotalAlloc), allowed+1<<20, "%s: %d of 5", name, part)
		}
	}
}

// TestTextInAttributesIsBounded: a string that occurs once cannot become the value of an unlimited number of keys.
func TestTextInAttributesIsBounded(t *testing.T) {
	start := wire{}.message(6, nil).message(6, wire("k")).message(6, wire("x").times(1<<20)).message(1, wire{}.number(1, 1)).
		with(each(6, 100, func(i uint64) wire { return wire(strconv.FormatUint(i, 10)) }))
	keys := each(3, 100, func(i uint64) wire { return wire{}.number(1, 3+i).number(2, 2) })
	list := wire{}.message(3, wire{}.number(1, 1).number(2, 2)).times(100)
	one := wire{}.message(2, wire{1})
	for name, raw := range map[string]wire{
		"keys":     start.message(2, one.with(keys)),
		"list":     start.message(2, one.with(list)),
		"comments": start.message(13, wire{2}.times(100)),
		"types":    start.with(wire{}.message(1, wire{}.number(1, 2)).times(100)),
	} {
		m := measure(t, pprof.DecodeOptions{}, raw)
		require.ErrorIs(t, m.err, pprof.ErrTooLarge, name)
		require.ErrorContains(t, m.err, "bytes of text in attributes: ", name)
		assert.Less(t, m.allocated, int64(200<<20), name)
	}
}
