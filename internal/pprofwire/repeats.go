// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "bytes"

// Repeat tells which parts of a sample are those of an earlier one: its number plus one, or 0 for parts of its own.
type Repeat struct {
	Locations, Labels uint32
}

// ReadRepeats is Read, but the locations and labels of a sample that stand in the payload byte for byte as those of a
// sample before may be left out: the sample has none of its own then, and its entry in p.Repeats names the other one,
// which has. Payloads of a sample per event repeat themselves a lot, and what is not read need not be translated either.
func (p *Profile) ReadRepeats(raw []byte, limits Limits) error {
	if p.repeats == nil {
		p.repeats = &repeatFinder{}
	}
	*p.repeats = repeatFinder{}
	return p.read(raw, limits, true)
}

// repeatFinder holds where in the payload the parts of samples stand. It knows a part that is not among those by chance:
// the sample then has its own.
type repeatFinder struct {
	// locations are lists of ids at the place where a list of its length and ends is looked for.
	locations [256]knownPart
	// labels are those of the last sample that had labels of its own.
	labels knownPart
}

// knownPart is a part of the payload, and the number of the sample whose it is, plus one.
type knownPart struct {
	span
	sample uint32
}

// repeatedParts is what is known of the sample that is being read.
type repeatedParts struct {
	Repeat
	// locations and labels are where the parts stand that may be repeated, empty if there are none.
	locations, labels span
	unknownFields     int
}

// repeatsLocations tells whether a list of ids, the first field of the sample, is known.
func (p *Profile) repeatsLocations(r *repeatedParts, at int, ids []byte) bool {
	if len(ids) == 0 {
		return false
	}
	known := p.repeats.locationsLike(ids)
	if bytes.Equal(p.raw[known.start:known.end], ids) {
		r.Locations = known.sample
		return true
	}
	r.locations = span{uint32(at), uint32(at + len(ids))}
	return false
}

func (f *repeatFinder) locationsLike(ids []byte) *knownPart {
	n := len(ids)
	return &f.locations[uint8(int(ids[0])+3*int(ids[n/2])+5*int(ids[n-1])+7*n)]
}

// repeatsLabels tells whether what follows in the sample are the labels of the last one that had some.
func (p *Profile) repeatsLabels(r *repeatedParts, at int, labels []byte) bool {
	if known := &p.repeats.labels; bytes.Equal(p.raw[known.start:known.end], labels) {
		r.Labels = known.sample
		return true
	}
	r.labels, r.unknownFields = span{uint32(at), uint32(at + len(labels))}, p.UnknownFields
	return false
}

// ownLocations gives the sample the locations that it was said to repeat: there are more of them.
func (p *Profile) ownLocations(r *repeatedParts) {
	if r.Locations != 0 {
		start := uint32(0)
		if r.Locations > 1 {
			start = p.Samples[r.Locations-2].LocationsEnd
		}
		p.LocationIDs = append(p.LocationIDs, p.LocationIDs[start:p.Samples[r.Locations-1].LocationsEnd]...)
		r.Locations = 0
	}
	r.locations = span{}
}

// addRepeat ends a sample and remembers its parts. Unknown fields are to be counted each time.
func (p *Profile) addRepeat(r *repeatedParts) {
	number := uint32(len(p.Samples) + 1)
	if r.locations != (span{}) {
		ids := p.raw[r.locations.start:r.locations.end]
		*p.repeats.locationsLike(ids) = knownPart{r.locations, number}
	}
	if r.labels != (span{}) && r.unknownFields == p.UnknownFields {
		p.repeats.labels = knownPart{r.labels, number}
	}
	p.Repeats = append(p.Repeats, Repeat{r.Locations, r.Labels})
}
