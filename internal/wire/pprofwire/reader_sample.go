// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"slices"
)

// readSample reads the bytes of one sample, which begin at position at of the payload.
//
//	repeated uint64 location_id = 1;
//	repeated int64 value = 2;
//	repeated Label label = 3;
func (p *Profile) readSample(at int, b []byte, limits *Limits) error {
	start := p.nextSample()
	var err error
	if p.repeats != nil {
		err = p.readRepeating(at, b, start, limits)
	} else {
		err = p.readParts(b, start, limits)
	}
	if err != nil {
		return err
	}
	end := p.nextSample()
	depth, labels := int(end.LocationsEnd-start.LocationsEnd), int(end.LabelsEnd-start.LabelsEnd)
	if err = limits.checkSample(len(p.Samples), depth, labels); err == nil {
		err = push(p, &p.Samples, end, limits)
	}
	return err
}

// nextSample returns the positions at which the parts of the next sample begin.
func (p *Profile) nextSample() Sample {
	return Sample{uint32(len(p.LocationIDs)), uint32(len(p.Values)), uint32(len(p.Labels))}
}

// readParts reads the fields in b. sample has the positions at which the parts of the sample begin.
func (p *Profile) readParts(b []byte, sample Sample, limits *Limits) error {
	for i := 0; i < len(b); {
		tag := b[i]
		if tag&7 != wireBytes || tag < 1<<3 || tag >= 4<<3 {
			next, err := p.readUnpacked(b, i, limits)
			if err != nil {
				return err
			}
			i = next
			continue
		}
		start, end := i+2, 0
		if i+1 < len(b) && int(b[i+1]) < min(0x80, len(b)-i-1) {
			end = start + int(b[i+1])
		} else if start, end = message(b, i+1); end < 0 {
			return p.inSample(int(tag>>3), end)
		}
		var err error
		switch tag >> 3 {
		case 1:
			// A sample has no more locations than bytes. Without this bound, the sum could overflow.
			err = p.readLocationIDs(b[start:end], int(sample.LocationsEnd)+min(limits.LocationsPerSample, len(b)), limits)
		case 2:
			err = p.readValues(b[start:end], limits)
		default:
			err = p.readLabel(b[start:end], limits)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// readUnpacked reads an id or value that is not packed, or skips an unknown field.
func (p *Profile) readUnpacked(b []byte, i int, limits *Limits) (_ int, err error) {
	tag := b[i]
	if tag != 1<<3|wireVarint && tag != 2<<3|wireVarint {
		return p.skipUnknown(b, i, "Sample", 3)
	}
	v, next := uvarint(b, i+1)
	if next < 0 {
		return 0, p.inSample(int(tag>>3), next)
	}
	if tag>>3 == 1 {
		err = push(p, &p.LocationIDs, v, limits)
	} else {
		err = push(p, &p.Values, int64(v), limits)
	}
	return next, err
}

func (p *Profile) inSample(field, position int) error {
	return inField(fmt.Sprintf("sample %d", len(p.Samples)), field, fault(position))
}

// readLocationIDs reads packed ids. It stops when the length of LocationIDs is maxLength+1: the caller then returns the
// error for the exceeded limit.
func (p *Profile) readLocationIDs(b []byte, maxLength int, limits *Limits) error {
	n := len(p.LocationIDs)
	want := min(len(b), max(maxLength+1-n, 0))
	if want > cap(p.LocationIDs)-n {
		// The bytes are only an upper bound. Before the table grows, the ids are counted.
		want = min(want, CountVarints(b))
		if want > cap(p.LocationIDs)-n {
			if err := p.growTables(want, limits); err != nil {
				return err
			}
		}
		p.LocationIDs = slices.Grow(p.LocationIDs, want)
	}
	// The loop writes through a local slice: to store a slice in p would need a GC write barrier for each id.
	ids := p.LocationIDs[n : n+want]
	i, k := 0, 0
	for ; i < len(b) && k < len(ids); k++ {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			// Two bytes are the most common case: ids up to 16,383. Three bytes are enough for all other ids except hashes.
			if i < len(b) && b[i] < 0x80 {
				v = v&0x7f | uint64(b[i])<<7
				i++
			} else if i+1 < len(b) && b[i+1] < 0x80 {
				v = v&0x7f | uint64(b[i]&0x7f)<<7 | uint64(b[i+1])<<14
				i += 2
			} else if v, i = longUvarint(b, i-1); i < 0 {
				return p.inSample(1, i)
			}
		}
		ids[k] = v
	}
	if i < len(b) && n+k <= maxLength {
		return p.inSample(1, faultTruncated) // The remaining bytes are not a complete id.
	}
	p.LocationIDs = p.LocationIDs[:n+k]
	return nil
}

func (p *Profile) readValues(b []byte, limits *Limits) (err error) {
	for i := 0; i < len(b); {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			if v, i = longUvarint(b, i-1); i < 0 {
				return p.inSample(2, i)
			}
		}
		if err := push(p, &p.Values, int64(v), limits); err != nil {
			return err
		}
	}
	return nil
}

// readLabel reads the bytes of one label.
//
//	int64 key = 1;  int64 str = 2;  int64 num = 3;  int64 num_unit = 4;
func (p *Profile) readLabel(b []byte, limits *Limits) error {
	var l Label
	for i := 0; i < len(b); {
		field, v, next, err := p.number(b, i, inLabel, len(p.Samples))
		switch field {
		case 1:
			l.Key, err = stringIndex("label.key", v)
		case 2:
			l.Str, err = stringIndex("label.str", v)
		case 3:
			l.Num = int64(v)
		case 4:
			l.NumUnit, err = stringIndex("label.num_unit", v)
		}
		if err != nil {
			return err
		}
		i = next
	}
	return push(p, &p.Labels, l, limits)
}
