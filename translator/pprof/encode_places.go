// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

// places are those of entries in bytes that are written once for a pprof and used again. As in [numbering], what stands
// there of earlier pprofs is told apart by their generation.
type places struct {
	generation uint32
	list       []place
}

type place struct{ generation, start, end uint32 }

func (p *places) begin(size int) {
	p.generation++
	if p.generation == 0 { // all generations were used
		clear(p.list)
		p.generation = 1
	}
	p.grow(size)
}

func (p *places) grow(size int) {
	if size > len(p.list) {
		p.list = append(p.list, make([]place, size-len(p.list))...)
	}
}

// find returns the place of an entry, if it has one already.
func (p *places) find(entry int32) (at place, known bool) {
	if int(entry) >= len(p.list) {
		return place{}, false
	}
	at = p.list[entry]
	return at, at.generation == p.generation
}

// set notes the place of an entry and returns it.
func (p *places) set(entry int32, start, end int) place {
	if int(entry) >= len(p.list) {
		p.grow(2 * int(entry+1))
	}
	at := place{p.generation, uint32(start), uint32(end)}
	p.list[entry] = at
	return at
}

func (p place) bytes() int { return int(p.end - p.start) }
