// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

// byteRanges maps entries to ranges of bytes that are written once for a pprof and reused. Ranges of earlier pprofs have
// another generation, as in [numbering].
type byteRanges struct {
	generation uint32
	list       []byteRange
}

type byteRange struct{ generation, start, end uint32 }

func (p *byteRanges) begin(size int) {
	p.generation++
	if p.generation == 0 { // the generation has overflowed
		clear(p.list)
		p.generation = 1
	}
	p.grow(size)
}

func (p *byteRanges) grow(size int) {
	if size > len(p.list) {
		p.list = append(p.list, make([]byteRange, size-len(p.list))...)
	}
}

// find returns the range of an entry. known is false if there is none.
func (p *byteRanges) find(entry int32) (at byteRange, known bool) {
	if int(entry) >= len(p.list) {
		return byteRange{}, false
	}
	at = p.list[entry]
	return at, at.generation == p.generation
}

// set stores the range of an entry and returns it.
func (p *byteRanges) set(entry int32, start, end int) byteRange {
	if int(entry) >= len(p.list) {
		p.grow(2 * int(entry+1))
	}
	at := byteRange{p.generation, uint32(start), uint32(end)}
	p.list[entry] = at
	return at
}

func (p byteRange) bytes() int { return int(p.end - p.start) }
