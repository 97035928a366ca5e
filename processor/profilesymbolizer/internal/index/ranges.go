// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// entry of the table of ranges: the node holds from the address on.
type entry struct{ address, node uint32 }

// flatten makes disjoint spans of some that are within each other: the innermost holds.
func flatten(spans []span) []span {
	// Outer spans first. The order of equal ones stays, so that the inner one comes after its parent.
	slices.SortStableFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.low, y.low), cmp.Compare(y.high, x.high))
	})
	flat := make([]span, 0, len(spans))
	var open []span
	position := uint32(0)
	upTo := func(address uint32) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if end := min(top.high, address); end > position {
				flat = append(flat, span{position, end, top.node})
				position = end
			}
			if top.high > address {
				break
			}
			open = open[:len(open)-1]
		}
	}
	for _, s := range spans {
		upTo(s.low)
		position = max(position, s.low)
		open = append(open, s)
	}
	upTo(^uint32(0))
	return flat
}

// overlay returns the entries of disjoint spans. Those of below hold where there is none of above.
func overlay(above, below []span) []entry {
	var entries []entry
	add := func(low, high, node uint32) {
		if low >= high {
			return
		}
		if n := len(entries); n > 0 && entries[n-1].address == low {
			entries = entries[:n-1]
		}
		if n := len(entries); n == 0 || entries[n-1].node != node {
			entries = append(entries, entry{low, node})
		}
		entries = append(entries, entry{high, 0})
	}
	// fill adds what is between two addresses.
	fill := func(low, high uint32) {
		for len(below) > 0 && below[0].low < high {
			add(max(low, below[0].low), min(high, below[0].high), below[0].node)
			if below[0].high > high {
				return
			}
			below = below[1:]
		}
	}
	position := uint32(0)
	for _, s := range above {
		fill(position, s.low)
		add(s.low, s.high, s.node)
		position = s.high
	}
	fill(position, ^uint32(0))
	return entries
}

// entries returns the table of ranges.
func (b *Builder) entries() ([]entry, error) {
	n := 0
	for _, spans := range b.layers {
		n += len(spans)
	}
	// Each span can end twice as many spans, and each of these be two entries.
	if err := b.memory.Use(int64(n) * (2*12 + 3*2*rangeSize)); err != nil {
		return nil, err
	}
	return overlay(flatten(b.layers[LayerDebug]), flatten(b.layers[LayerSymbols])), nil
}
