// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "slices"

// reserveAbove is the size of a payload from which on counting its entries first is cheaper than growing the tables in
// steps, each of which copies them.
const reserveAbove = 1 << 20

// reserve makes room for what the payload holds from position i on, once per payload. What it cannot follow is left to
// Read, which tells what is wrong.
func (p *Profile) reserve(i int, limits *Limits) {
	if p.reserved || len(p.raw) < reserveAbove {
		return
	}
	p.reserved = true
	n := count(p.raw[i:], min(limits.Samples-len(p.Samples), len(p.raw)))
	p.Samples = slices.Grow(p.Samples, n.samples)
	p.LocationIDs = slices.Grow(p.LocationIDs, n.locationIDs)
	p.Values = slices.Grow(p.Values, n.values)
	p.Labels = slices.Grow(p.Labels, n.labels)
	p.Locations = slices.Grow(p.Locations, n.locations)
	p.Lines = slices.Grow(p.Lines, n.lines)
	p.Functions = slices.Grow(p.Functions, n.functions)
	p.strings = slices.Grow(p.strings, n.strings)
}

// counts are the numbers of entries in a part of a payload.
type counts struct {
	samples, locationIDs, values, labels int
	locations, lines, functions, strings int
}

// count walks over the fields of Profile in b, up to the first that it does not know how to step over, or that is a
// sample too many.
func count(b []byte, maxSamples int) (n counts) {
	for i := 0; i < len(b); {
		tag := b[i]
		if tag >= 0x80 || tag < 1<<3 {
			return n
		}
		if tag&7 != wireBytes {
			if i = skip(b, i+1, int(tag&7)); i < 0 {
				return n
			}
			continue
		}
		start, end := message(b, i+1)
		if end < 0 {
			return n
		}
		switch tag >> 3 {
		case 2:
			if n.samples == maxSamples {
				return n
			}
			n.samples++
			n.countSample(b[start:end])
		case 4:
			n.locations++
			n.countLines(b[start:end])
		case 5:
			n.functions++
		case 6:
			n.strings++
		}
		i = end
	}
	return n
}

func (n *counts) countSample(b []byte) {
	for i := 0; i < len(b); {
		tag := b[i]
		if tag == 1<<3|wireVarint {
			n.locationIDs++
		}
		if tag == 2<<3|wireVarint {
			n.values++
		}
		if tag&7 != wireBytes {
			if i = skip(b, i+1, int(tag&7)); i < 0 {
				return
			}
			continue
		}
		start, end := message(b, i+1)
		if end < 0 {
			return
		}
		switch tag >> 3 {
		case 1:
			n.locationIDs += countVarints(b[start:end])
		case 2:
			n.values += countVarints(b[start:end])
		case 3:
			n.labels++
		}
		i = end
	}
}

// countVarints counts the bytes that end a varint.
func countVarints(b []byte) (n int) {
	for _, c := range b {
		n += int(^c >> 7)
	}
	return n
}

func (n *counts) countLines(b []byte) {
	for i := 0; i < len(b); {
		tag := b[i]
		if i = skip(b, i+1, int(tag&7)); i < 0 {
			return
		}
		if tag == 4<<3|wireBytes {
			n.lines++
		}
	}
}
