// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"math"
)

// Profile holds the tables of one payload. The zero value is ready for use.
//
// The content is valid until the next call of Read, ReadRepeats or Reset, and only while the bytes given to Read do not change.
type Profile struct {
	SampleTypes []ValueType
	Samples     []Sample
	LocationIDs []uint64
	Values      []int64
	Labels      []Label
	Mappings    []Mapping
	Locations   []Location
	Lines       []Line
	Functions   []Function
	Comments    []uint32
	// Repeats has an entry for each sample after ReadRepeats. After Read it is empty.
	Repeats []repeat

	DropFrames, KeepFrames uint32
	TimeNanos              int64
	DurationNanos          int64
	HasPeriodType          bool
	PeriodType             ValueType
	Period                 int64
	DefaultSampleType      uint32
	DocURL                 uint32

	// UnknownFields counts the fields that were skipped.
	UnknownFields int

	raw     []byte
	strings []span
	// stringBytes is the length of all strings.
	stringBytes int
	// total is the number of entries in raw, valid if counted is true.
	total   counts
	counted bool
	// repeats is finder during ReadRepeats, and nil during Read.
	repeats, finder *repeatFinder
}

// NumStrings returns the length of the string table.
func (p *Profile) NumStrings() int { return len(p.strings) }

// StringBytes returns the length of all strings together.
func (p *Profile) StringBytes() int { return p.stringBytes }

// String returns entry i of the string table. It is a part of the bytes given to Read, and may be invalid UTF-8. Every index
// in the tables is below NumStrings.
func (p *Profile) String(i uint32) []byte {
	s := p.strings[i]
	return p.raw[s.start:s.end:s.end]
}

// LinesAt returns the lines of location i.
func (p *Profile) LinesAt(i int) []Line {
	start := uint32(0)
	if i > 0 {
		start = p.Locations[i-1].LinesEnd
	}
	return p.Lines[start:p.Locations[i].LinesEnd]
}

// counts returns the sizes of the tables.
func (p *Profile) counts() counts {
	return counts{
		sampleTypes: len(p.SampleTypes), samples: len(p.Samples), locationIDs: len(p.LocationIDs), values: len(p.Values),
		labels: len(p.Labels), mappings: len(p.Mappings), locations: len(p.Locations), lines: len(p.Lines),
		functions: len(p.Functions), strings: len(p.strings), comments: len(p.Comments), repeats: len(p.Repeats),
	}
}

// Bytes returns the memory of the entries in the tables.
func (p *Profile) Bytes() int64 {
	n := p.counts()
	return n.bytes()
}

// Kept returns the memory of the tables, including unused capacity.
func (p *Profile) Kept() int64 {
	n := counts{
		sampleTypes: cap(p.SampleTypes), samples: cap(p.Samples), locationIDs: cap(p.LocationIDs), values: cap(p.Values),
		labels: cap(p.Labels), mappings: cap(p.Mappings), locations: cap(p.Locations), lines: cap(p.Lines),
		functions: cap(p.Functions), strings: cap(p.strings), comments: cap(p.Comments), repeats: cap(p.Repeats),
	}
	return n.bytes()
}

// Reset empties the tables and drops the reference to the bytes that were read. It keeps the memory of the tables for the
// next Read.
func (p *Profile) Reset() {
	*p = Profile{
		SampleTypes: p.SampleTypes[:0],
		Samples:     p.Samples[:0],
		LocationIDs: p.LocationIDs[:0],
		Values:      p.Values[:0],
		Labels:      p.Labels[:0],
		Mappings:    p.Mappings[:0],
		Locations:   p.Locations[:0],
		Lines:       p.Lines[:0],
		Functions:   p.Functions[:0],
		Comments:    p.Comments[:0],
		Repeats:     p.Repeats[:0],
		strings:     p.strings[:0],
		finder:      p.finder,
	}
}

// Read replaces the content of the tables with that of raw, an uncompressed profile.proto message. raw must not change while
// the tables are in use.
//
// When a table is full for the first time, Read counts the entries of raw. An exceeded limit is then an error. Next it counts
// their memory, and allocates each table in its final size. The tables need at most 24 times the size of raw.
//
// The error wraps ErrMalformed or ErrTooLarge and names the field and the number, or it is that of limits.Memory.
func (p *Profile) Read(raw []byte, limits Limits) error {
	p.Reset()
	return p.read(raw, &limits)
}

func (p *Profile) read(raw []byte, limits *Limits) error {
	if len(raw) == 0 {
		return Malformed("the payload is empty")
	}
	if uint64(len(raw)) > math.MaxInt32 {
		return TooLarge("bytes of the payload", len(raw), math.MaxInt32)
	}
	p.raw = raw
	for i := 0; i < len(raw); {
		next, err := p.readField(i, limits)
		if err != nil {
			return err
		}
		i = next
	}
	// If all tables were large enough, nothing was counted and checked yet.
	if n := p.counts(); !p.counted {
		if err := n.check(limits); err != nil {
			return err
		}
	}
	return p.checkReferences()
}

// readField reads the field of Profile that begins at position i and returns the position after it.
//
//	repeated ValueType sample_type = 1;    int64 drop_frames = 7;      int64 period = 12;
//	repeated Sample sample = 2;            int64 keep_frames = 8;      repeated int64 comment = 13;
//	repeated Mapping mapping = 3;          int64 time_nanos = 9;       int64 default_sample_type = 14;
//	repeated Location location = 4;        int64 duration_nanos = 10;  int64 doc_url = 15;
//	repeated Function function = 5;        ValueType period_type = 11;
//	repeated string string_table = 6;
func (p *Profile) readField(i int, limits *Limits) (int, error) {
	tag := p.raw[i]
	if tag&7 != wireBytes || tag < 1<<3 || tag >= 14<<3 {
		return p.readNumber(i, limits)
	}
	start, end := message(p.raw, i+1)
	if end < 0 {
		return 0, inField("Profile", int(tag>>3), fault(end))
	}
	b := p.raw[start:end]
	var err error
	switch tag >> 3 {
	case 1:
		var t ValueType
		if t, err = p.readValueType(b, ValueType{}); err == nil {
			err = push(p, &p.SampleTypes, t, limits)
		}
	case 2:
		err = p.readSample(start, b, limits)
	case 3:
		err = p.readMapping(b, limits)
	case 4:
		err = p.readLocation(b, limits)
	case 5:
		err = p.readFunction(b, limits)
	case 6:
		if len(b) > limits.StringBytes {
			return 0, TooLarge(fmt.Sprintf("bytes of string %d", len(p.strings)), len(b), limits.StringBytes)
		}
		p.stringBytes += len(b)
		err = push(p, &p.strings, span{uint32(start), uint32(end)}, limits)
	case 11:
		p.HasPeriodType = true
		p.PeriodType, err = p.readValueType(b, p.PeriodType)
	case 13:
		err = p.readPackedComments(b, limits)
	default:
		return 0, wrongWireType("Profile", int(tag>>3), wireBytes)
	}
	return end, err
}

// readNumber reads a field of Profile that is a number, or skips an unknown field.
func (p *Profile) readNumber(i int, limits *Limits) (int, error) {
	tag := p.raw[i]
	if tag&7 != wireVarint || tag < 7<<3 || tag == 11<<3 || tag >= 16<<3 {
		return p.skipUnknown(p.raw, i, "Profile", 15)
	}
	field := int(tag >> 3)
	v, next := uvarint(p.raw, i+1)
	if next < 0 {
		return 0, inField("Profile", field, fault(next))
	}
	var err error
	switch field {
	case 7:
		p.DropFrames, err = stringIndex("drop_frames", v)
	case 8:
		p.KeepFrames, err = stringIndex("keep_frames", v)
	case 9:
		if p.TimeNanos != 0 {
			err = Malformed("time_nanos appears twice: the payload is several profiles, concatenated")
		}
		p.TimeNanos = int64(v)
	case 10:
		p.DurationNanos = int64(v)
	case 12:
		p.Period = int64(v)
	case 13:
		err = p.addComment(v, limits)
	case 14:
		p.DefaultSampleType, err = stringIndex("default_sample_type", v)
	case 15:
		p.DocURL, err = stringIndex("doc_url", v)
	}
	return next, err
}

func (p *Profile) readPackedComments(b []byte, limits *Limits) error {
	for i := 0; i < len(b); {
		v, next := uvarint(b, i)
		if next < 0 {
			return inField("Profile", 13, fault(next))
		}
		if err := p.addComment(v, limits); err != nil {
			return err
		}
		i = next
	}
	return nil
}

func (p *Profile) addComment(v uint64, limits *Limits) error {
	index, err := stringIndex("comment", v)
	if err == nil {
		err = push(p, &p.Comments, index, limits)
	}
	return err
}

// skipUnknown skips the field that begins at b[i]. known is the largest field number that the caller reads: a field up to that
// number comes here only if its wire type is wrong.
func (p *Profile) skipUnknown(b []byte, i int, message string, known uint64) (int, error) {
	tag, next := uvarint(b, i)
	if next < 0 {
		return 0, Malformed("cannot read a tag of %s: %s", message, fault(next))
	}
	field, wireType := tag>>3, int(tag&7)
	if field == 0 {
		return 0, Malformed("%s has a field with number 0", message)
	}
	if field <= known && next > i+1 {
		return 0, Malformed("a tag of %s is longer than necessary", message)
	}
	if field <= known || wireType > wireFixed32 || wireType == 3 || wireType == 4 {
		return 0, wrongWireType(message, int(min(field, math.MaxInt32)), wireType)
	}
	end := skip(b, next, wireType)
	if end < 0 {
		return 0, inField(message, int(min(field, math.MaxInt32)), fault(end))
	}
	p.UnknownFields++
	return end, nil
}
