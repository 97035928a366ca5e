// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "fmt"

// readSample reads the bytes of one sample.
//
//	repeated uint64 location_id = 1;
//	repeated int64 value = 2;
//	repeated Label label = 3;
func (p *Profile) readSample(b []byte, limits *Limits) error {
	locations, labels := len(p.LocationIDs), len(p.Labels)
	for i := 0; i < len(b); {
		next, err := 0, error(nil)
		switch b[i] {
		case 1<<3 | wireBytes:
			start, end := message(b, i+1)
			if end < 0 {
				return p.inSample(1, end)
			}
			// A sample has no more locations than bytes; the sum with any limit might overflow.
			next, err = end, p.readLocationIDs(b[start:end], locations+min(limits.LocationsPerSample, len(b)))
		case 1<<3 | wireVarint:
			var id uint64
			if id, next = uvarint(b, i+1); next < 0 {
				return p.inSample(1, next)
			}
			p.LocationIDs = append(p.LocationIDs, id)
		case 2<<3 | wireBytes:
			start, end := message(b, i+1)
			if end < 0 {
				return p.inSample(2, end)
			}
			next, err = end, p.readValues(b[start:end])
		case 2<<3 | wireVarint:
			var v uint64
			if v, next = uvarint(b, i+1); next < 0 {
				return p.inSample(2, next)
			}
			p.Values = append(p.Values, int64(v))
		case 3<<3 | wireBytes:
			start, end := message(b, i+1)
			if end < 0 {
				return p.inSample(3, end)
			}
			if len(p.Labels)-labels >= limits.LabelsPerSample {
				return tooLarge(fmt.Sprintf("labels of sample %d", len(p.Samples)), len(p.Labels)-labels+1, limits.LabelsPerSample)
			}
			next, err = end, p.readLabel(b[start:end])
		default:
			next, err = p.skipUnknown(b, i, "Sample", 3)
		}
		if err != nil {
			return err
		}
		i = next
	}
	if depth := len(p.LocationIDs) - locations; depth > limits.LocationsPerSample {
		return tooLarge(fmt.Sprintf("locations of sample %d", len(p.Samples)), depth, limits.LocationsPerSample)
	}
	p.Samples = append(p.Samples, Sample{uint32(len(p.LocationIDs)), uint32(len(p.Values)), uint32(len(p.Labels))})
	return nil
}

func (p *Profile) inSample(field, position int) error {
	return inField(fmt.Sprintf("sample %d", len(p.Samples)), field, fault(position))
}

// readLocationIDs reads packed ids until LocationIDs is one longer than limit at most; the caller tells of it.
func (p *Profile) readLocationIDs(b []byte, limit int) error {
	ids := p.LocationIDs
	for i := 0; i < len(b) && len(ids) <= limit; {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			// Two bytes are the common case, ids up to 16,383; three are all others but hashes.
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
		ids = append(ids, v)
	}
	p.LocationIDs = ids
	return nil
}

func (p *Profile) readValues(b []byte) error {
	values := p.Values
	for i := 0; i < len(b); {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			if v, i = longUvarint(b, i-1); i < 0 {
				return p.inSample(2, i)
			}
		}
		values = append(values, int64(v))
	}
	p.Values = values
	return nil
}

// readLabel reads the bytes of one label.
//
//	int64 key = 1;  int64 str = 2;  int64 num = 3;  int64 num_unit = 4;
func (p *Profile) readLabel(b []byte) error {
	var l Label
	for i := 0; i < len(b); {
		tag := b[i]
		if tag&7 != wireVarint || tag < 1<<3 || tag >= 5<<3 {
			next, err := p.skipUnknown(b, i, "Label", 4)
			if err != nil {
				return err
			}
			i = next
			continue
		}
		v, next := uvarint(b, i+1)
		if next < 0 {
			return inField(fmt.Sprintf("a label of sample %d", len(p.Samples)), int(tag>>3), fault(next))
		}
		var err error
		switch tag >> 3 {
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
	p.Labels = append(p.Labels, l)
	return nil
}
