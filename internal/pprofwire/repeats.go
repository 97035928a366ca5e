// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "bytes"

// Repeat tells which parts of a sample are those of an earlier one: its number plus one, or 0 for parts of its own.
type Repeat struct {
	Locations, Labels uint32
}

// ReadRepeats is Read, but locations and labels that stand in the payload byte for byte as those of a sample before may
// be left out: the sample has none of its own then, and its entry in p.Repeats names the other one, which has. Payloads
// with a sample per event repeat themselves a lot, and what is not read need not be translated either.
func (p *Profile) ReadRepeats(raw []byte, limits Limits) error {
	if p.finder == nil {
		p.finder = &repeatFinder{}
	}
	*p.finder = repeatFinder{}
	p.Reset()
	p.repeats = p.finder
	return p.read(raw, &limits)
}

// repeatFinder holds where in the payload the parts of samples stand, as many as it has places for.
type repeatFinder struct {
	// locations are lists of ids at the place where a list of its length and some of its bytes is looked for.
	locations [256]knownPart
	// labels are those of the last sample that had some of its own.
	labels knownPart
}

// knownPart is a part of the payload, and the number of the sample whose it is, plus one.
type knownPart struct {
	span
	sample uint32
}

func (f *repeatFinder) locationsLike(ids []byte) *knownPart {
	n := len(ids)
	return &f.locations[uint8(int(ids[0])+3*int(ids[n/2])+5*int(ids[n-1])+7*n)]
}

// usualParts returns where the locations and the values of a sample end that begins with packed locations, perhaps packed
// values behind them, as all producers write it. Both are 0 for any other.
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

// readRepeating reads a sample that begins at position at of the payload, but for parts that are known.
func (p *Profile) readRepeating(at int, b []byte, sample Sample, limits *Limits) error {
	locations, values := usualParts(b)
	if locations == 0 {
		if err := push(p, &p.Repeats, Repeat{}, limits); err != nil {
			return err
		}
		return p.readParts(b, sample, limits)
	}
	ids, labels := b[2:locations], b[values:]
	known, last := p.repeats.locationsLike(ids), &p.repeats.labels
	repeated := Repeat{0, last.sample}
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
		// Unknown fields are to be counted each time.
		if len(p.Values) == int(before.ValuesEnd) && p.UnknownFields == unknown {
			*last = p.knownPart(at+values, labels)
		}
	}
	if repeated.Locations == 0 {
		*known = p.knownPart(at+2, ids)
	}
	return push(p, &p.Repeats, repeated, limits)
}

// knownPart returns a part of the sample that is being read, which stands at a position of the payload.
func (p *Profile) knownPart(at int, part []byte) knownPart {
	return knownPart{span{uint32(at), uint32(at + len(part))}, uint32(len(p.Samples) + 1)}
}

// readAgain reads a sample that turned out to have locations in several places.
func (p *Profile) readAgain(b []byte, sample Sample, unknownFields int, limits *Limits) error {
	p.LocationIDs = p.LocationIDs[:sample.LocationsEnd]
	p.Values = p.Values[:sample.ValuesEnd]
	p.Labels = p.Labels[:sample.LabelsEnd]
	p.UnknownFields = unknownFields
	if err := push(p, &p.Repeats, Repeat{}, limits); err != nil {
		return err
	}
	return p.readParts(b, sample, limits)
}
