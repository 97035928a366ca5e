// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestHashesSpread fills tables with values that differ little, as an attacker would send them to make lookups slow. It does
// not measure time, but how far the entries are from their slots, and how many have the same stored part of the hash. This
// must hold for every seed, since a process keeps its seeds.
func TestHashesSpread(t *testing.T) {
	const n = 12_000 // an index of 16,384 slots is then almost at its maximum load
	defer func(a, b uint64) { seedA, seedB = a, b }(seedA, seedB)
	random := rand.New(rand.NewPCG(1, 2))
	seeds := make([][2]uint64, 25)
	for i := range seeds {
		seeds[i] = [2]uint64{random.Uint64() | 1, random.Uint64() | 1}
	}
	for name, fill := range map[string]func(*Builder, int32) *hashIndex{
		"strings": func(b *Builder, i int32) *hashIndex { b.String(strconv.Itoa(int(i))); return &b.stringIndex },
		"functions of one name": func(b *Builder, i int32) *hashIndex {
			b.Function(Function{Name: 1, StartLine: int64(i)})
			return &b.functionIndex
		},
		"functions": func(b *Builder, i int32) *hashIndex {
			b.Function(Function{Name: i, SystemName: i, Filename: i})
			return &b.functionIndex
		},
		"mappings at round addresses": func(b *Builder, i int32) *hashIndex {
			b.Mapping(Mapping{Start: uint64(i) << 40}, nil)
			return &b.mappingIndex
		},
		"mappings by attributes": func(b *Builder, i int32) *hashIndex {
			b.Mapping(Mapping{}, []int32{i, i + 1})
			return &b.mappingIndex
		},
		"locations by column": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{}, []Line{{Function: 1, Line: 1, Column: int64(i)}}, nil)
			return &b.locationIndex
		},
		"locations by line": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{}, []Line{{}, {Line: -int64(i)}}, nil)
			return &b.locationIndex
		},
		"locations at round addresses": func(b *Builder, i int32) *hashIndex {
			b.Location(Location{Address: uint64(i) << 32}, nil, nil)
			return &b.locationIndex
		},
		"stacks by their root": func(b *Builder, i int32) *hashIndex {
			b.Stack([]int32{1, 2, 3, 4, 5, 6, 7, 8, i})
			return &b.stacks.index
		},
		"stacks by their leaf": func(b *Builder, i int32) *hashIndex {
			b.Stack([]int32{i, 2, 3, 4, 5, 6, 7, 8})
			return &b.stacks.index
		},
		"links by the last byte": func(b *Builder, i int32) *hashIndex {
			b.Link(Link{SpanID: pcommon.SpanID{7: byte(i), 6: byte(i >> 8), 5: byte(i >> 16)}})
			return &b.linkIndex
		},
		"ints": func(b *Builder, i int32) *hashIndex { b.IntAttribute(1, 0, int64(i)); return &b.attributeIndex },
		"keys": func(b *Builder, i int32) *hashIndex { b.BoolAttribute(i, 0, true); return &b.attributeIndex },
		"maps": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueMap()
			v.Map().PutInt("a", int64(i)) // a short, common key must not weaken the hash
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
		"maps whose values are swapped": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueMap()
			v.Map().PutInt("a", int64(i))
			v.Map().PutInt("b", n-int64(i))
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
		"lists": func(b *Builder, i int32) *hashIndex {
			v := pcommon.NewValueSlice()
			v.Slice().AppendEmpty().SetInt(int64(i % 200))
			v.Slice().AppendEmpty().SetStr(strconv.Itoa(int(i / 200)))
			b.Attribute(1, 0, v)
			return &b.attributeIndex
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds {
				seedA, seedB = seed[0], seed[1]
				b := New()
				var index *hashIndex
				for i := range int32(n) {
					index = fill(b, i+1)
				}
				distance, sharing := spread(index)
				assert.GreaterOrEqual(t, index.used, n)
				// With random hashes, the mean is 1.5 at a load of 3/4, and hardly any two share 32 bits.
				assert.Less(t, distance, 2.5, "mean distance of an entry from its place")
				assert.Less(t, sharing, 20, "entries that share what is kept of their hashes")
			}
		})
	}
}

func spread(x *hashIndex) (meanDistance float64, sharing int) {
	mask := uint64(len(x.slots) - 1)
	kept := map[uint64]bool{}
	total := uint64(0)
	for slot, content := range x.slots {
		if content == 0 {
			continue
		}
		total += (uint64(slot) - content>>32) & mask
		if kept[content>>32] {
			sharing++
		}
		kept[content>>32] = true
	}
	return float64(total) / float64(x.used), sharing
}
