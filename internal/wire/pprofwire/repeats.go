// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "bytes"

// repeat says which parts of a sample are equal to those of an earlier sample. A field is the index of that sample plus one,
// or 0 if the sample has this part itself.
type repeat struct {
	Locations, Labels uint32
}

// ReadRepeats is [Profile.Read] for payloads with one sample per event, which repeat stacks and labels many times. If the
// bytes of the locations or labels of a sample are equal to those of an earlier sample, ReadRepeats may leave them out of
// the tables. The entry of the sample in p.Repeats then refers to the earlier one. The caller saves the time to translate
// them again.
func (p *Profile) ReadRepeats(raw []byte, limits Limits) error {
	if p.finder == nil {
		p.finder = &repeatFinder{}
	}
	*p.finder = repeatFinder{}
	p.Reset()
	p.repeats = p.finder
	return p.read(raw, &limits)
}

// repeatFinder is a small cache of the positions of locations and labels in the payload.
type repeatFinder struct {
	// locations is a hash table without chaining: a new list of ids replaces the one with the same hash.
	locations [256]knownPart
	// labels is the last part with labels that was read.
	labels knownPart
}

// knownPart is a part of the payload, and the index of its sample plus one.
type knownPart struct {
	span
	sample uint32
}

// slot returns the slot for a list of ids. The hash uses its length and three of its bytes.
func (f *repeatFinder) slot(ids []byte) *knownPart {
	n := len(ids)
	return &f.locations[uint8(int(ids[0])+3*int(ids[n/2])+5*int(ids[n-1])+7*n)]
}

// usualParts returns the end positions of the locations and of the values in a sample that begins with packed locations,
// with or without packed values after them. All known producers write samples this way. For any other sample both are 0.
func usualParts(b []byte) (locations, values int) {
	if len(b) < 3 || b[0] != 1<<3|wireBytes || b[1] == 0 || int(b[1]) >= min(0x80, len(b)-1) {
		return 0, 0
	}
	locations = 2 + int(b[1])
	rest := b[locations:]
	if len(rest) < 2 || rest[0] != 2<<3|wireBytes {
		return locations, locations
	}
	if int(rest[1]) >= min(0x80, len(rest)-1) {
		return 0, 0
	}
	return locations, locations + 2 + int(rest[1])
}

// readRepeating reads a sample that begins at position at of the payload. It leaves out parts that repeat earlier ones.
func (p *Profile) readRepeating(at int, b []byte, sample Sample, limits *Limits) error {
	locations, values := usualParts(b)
	if locations == 0 {
		if err := push(p, &p.Repeats, repeat{}, limits); err != nil {
			return err
		}
		return p.readParts(b, sample, limits)
	}
	ids, labels := b[2:locations], b[values:]
	known, last := p.repeats.slot(ids), &p.repeats.labels
	repeated := repeat{0, last.sample}
	if bytes.Equal(p.raw[known.start:known.end], ids) {
		repeated.Locations = known.sample
	} else if err := p.readLocationIDs(ids, int(sample.LocationsEnd)+min(limits.LocationsPerSample, len(b)), limits); err != nil {
		return err
	}
	if values > locations {
		if err := p.readValues(b[locations+2:values], limits); err != nil {
			return err
		}
	}
	if !bytes.Equal(p.raw[last.start:last.end], labels) {
		repeated.Labels = 0
		before, unknown := p.nextSample(), p.UnknownFields
		if err := p.readParts(labels, sample, limits); err != nil {
			return err
		}
		if len(p.LocationIDs) > int(before.LocationsEnd) {
			return p.readAgain(b, sample, unknown, limits)
		}
		// Labels with unknown fields are not remembered, since these fields must be counted each time.
		if len(p.Values) == int(before.ValuesEnd) && p.UnknownFields == unknown {
			*last = p.knownPart(at+values, labels)
		}
	}
	if repeated.Locations == 0 {
		*known = p.knownPart(at+2, ids)
	}
	return push(p, &p.Repeats, repeated, limits)
}

// knownPart returns the part of the current sample that begins at position at of the payload.
func (p *Profile) knownPart(at int, part []byte) knownPart {
	return knownPart{span{uint32(at), uint32(at + len(part))}, uint32(len(p.Samples) + 1)}
}

// readAgain discards what was read of a sample and reads it without repeats. It is for samples with locations in several
// fields.
func (p *Profile) readAgain(b []byte, sample Sample, unknownFields int, limits *Limits) error {
	p.LocationIDs = p.LocationIDs[:sample.LocationsEnd]
	p.Values = p.Values[:sample.ValuesEnd]
	p.Labels = p.Labels[:sample.LabelsEnd]
	p.UnknownFields = unknownFields
	if err := push(p, &p.Repeats, repeat{}, limits); err != nil {
		return err
	}
	return p.readParts(b, sample, limits)
}
