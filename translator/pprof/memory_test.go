// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// decoding returns the translation of a payload.
func decoding(payload []byte) memorytest.Work {
	return func(reserve func(int64) error) error {
		_, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{Reserve: reserve})
		return err
	}
}

// checkMessage compares the reservation of the message of a payload with the memory that it uses.
func checkMessage(t *testing.T, most int64, payload []byte) {
	t.Helper()
	memorytest.CheckHeld(t, most, min(1+1<<20/len(payload), 8), func() (pprofile.Profiles, int64) {
		pd, stats, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
		require.NoError(t, err)
		return pd, memory.MessageFactor * stats.MessageBytes
	})
}

// TestMemoryOfRealProfiles: a translation and its message use what is reserved for them.
func TestMemoryOfRealProfiles(t *testing.T) {
	files := profiletest.OwnPprofs(t)
	if !testing.Short() {
		files = append(files, profiletest.CorpusPprofs(t, "real", "synth")...)
	}
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			payload := file.Bytes(t)
			if _, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{}); err != nil {
				return
			}
			memorytest.Check(t, decoding(payload))
			checkMessage(t, memorytest.Most, payload)
		})
	}
}

// TestMemoryOfLongStrings: the same for profiles with a long string, wherever it is used.
func TestMemoryOfLongStrings(t *testing.T) {
	for _, name := range []string{"labelled.pb.gz", "mutex.pb.gz"} {
		raw := profiletest.Inflate(t, must.Get(os.ReadFile("../../testdata/pprof/"+name))(t))
		for _, part := range []string{"a", "0", "\xff", "\xffa"} {
			for payload := range profiletest.LongStrings(raw, part, 512<<10) {
				memorytest.CheckCovered(t, decoding(payload))
			}
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
		"labels":            start.with(location).with(labels(n, func(uint64) wire { return wire{}.number(1, 1) })),
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

// TestMemoryOfHostilePayloads: the same for many entries of each kind, plain, compressed and nested.
func TestMemoryOfHostilePayloads(t *testing.T) {
	// These messages use less than a third of their reservations, which are for attributes of other kinds: texts may be repaired to
	// twice their length, a value may have a unit of its own, and each label may become an attribute.
	exceptions := map[string]int64{"bytes that are no text": 4, "labels of numbers": 7, "labels": 31}
	for name, raw := range hostileWires() {
		zipped, err := pprof.AppendGzip(nil, raw, 6)
		require.NoError(t, err)
		twice, err := pprof.AppendGzip(nil, zipped, 6)
		require.NoError(t, err)
		for form, payload := range map[string][]byte{"plain": raw, "gzip": zipped, "twice": twice} {
			t.Run(name+"/"+form, func(t *testing.T) { memorytest.Check(t, decoding(payload)) })
		}
		t.Run(name+"/message", func(t *testing.T) { checkMessage(t, max(memorytest.Most, exceptions[name]), raw) })
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
		var err error
		used := memorytest.Allocated(func() { err = decoding(raw)(nil) })
		require.ErrorIs(t, err, pprof.ErrTooLarge, name)
		require.ErrorContains(t, err, "bytes of text in attributes: ", name)
		assert.Less(t, used, int64(200<<20), name)
	}
}
