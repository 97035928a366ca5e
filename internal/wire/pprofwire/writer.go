// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// The Append functions of this file append one message to dst, as a field of Profile, and return the extended slice. As in
// proto3, repeated numbers are packed and zero values are left out.

// AppendSampleType appends an entry of sample_type.
func AppendSampleType(dst []byte, t ValueType) []byte { return appendValueType(dst, 1, t) }

// AppendPeriodType appends period_type.
func AppendPeriodType(dst []byte, t ValueType) []byte { return appendValueType(dst, 11, t) }

func appendValueType(dst []byte, field int, t ValueType) []byte {
	dst, start := openMessage(dst, field)
	dst = appendNumber(dst, 1, uint64(t.Type))
	dst = appendNumber(dst, 2, uint64(t.Unit))
	return closeMessage(dst, start)
}

// AppendSample appends a sample. locationIDs are the packed ids, as AppendID writes them. labels are the labels as
// AppendLabel writes them, concatenated.
func AppendSample(dst, locationIDs []byte, values []int64, labels []byte) []byte {
	// The length is computed before anything is written, so that closeMessage need not move the stack. Most bytes of a
	// payload are stacks.
	packed, size := 0, len(labels)
	for _, v := range values {
		packed += protowire.SizeVarint(uint64(v))
	}
	if len(locationIDs) > 0 {
		size += 1 + protowire.SizeVarint(uint64(len(locationIDs))) + len(locationIDs)
	}
	if len(values) > 0 {
		size += 1 + protowire.SizeVarint(uint64(packed)) + packed
	}
	dst = binary.AppendUvarint(append(dst, 2<<3|wireBytes), uint64(size))
	if len(locationIDs) > 0 {
		dst = binary.AppendUvarint(append(dst, 1<<3|wireBytes), uint64(len(locationIDs)))
		dst = append(dst, locationIDs...)
	}
	if len(values) > 0 {
		dst = binary.AppendUvarint(append(dst, 2<<3|wireBytes), uint64(packed))
		for _, v := range values {
			dst = binary.AppendUvarint(dst, uint64(v))
		}
	}
	return append(dst, labels...)
}

const (
	// MaxIDBytes is the largest number of bytes of a packed id.
	MaxIDBytes = binary.MaxVarintLen32
	// LongID is the first id of more than two bytes.
	LongID = 1 << 14
)

// PutShortID writes a packed id below LongID to dst[at:], which must have at least MaxIDBytes, and returns the position after it. It has no
// branch: ids of one and of two bytes alternate irregularly, so the CPU would often mispredict it.
func PutShortID(dst []byte, at int, id uint32) int {
	long := (0x7f - id) >> 31
	binary.LittleEndian.PutUint16(dst[at:], uint16(id&0x7f|long<<7|id>>7<<8))
	return at + 1 + int(long)
}

// PutLongID is PutShortID for any id. It is not inlined, so that the loops that call both stay small.
//
//go:noinline
func PutLongID(dst []byte, at int, id uint32) int {
	return at + binary.PutUvarint(dst[at:], uint64(id))
}

// AppendID appends a packed id.
func AppendID(dst []byte, id uint32) []byte { return binary.AppendUvarint(dst, uint64(id)) }

// AppendLabel appends a label as a field of Sample.
func AppendLabel(dst []byte, l Label) []byte {
	dst, start := openMessage(dst, 3)
	dst = appendNumber(dst, 1, uint64(l.Key))
	dst = appendNumber(dst, 2, uint64(l.Str))
	dst = appendNumber(dst, 3, uint64(l.Num))
	dst = appendNumber(dst, 4, uint64(l.NumUnit))
	return closeMessage(dst, start)
}

// AppendMapping appends a mapping.
func AppendMapping(dst []byte, m Mapping) []byte {
	dst, start := openMessage(dst, 3)
	dst = appendNumber(dst, 1, m.ID)
	dst = appendNumber(dst, 2, m.Start)
	dst = appendNumber(dst, 3, m.Limit)
	dst = appendNumber(dst, 4, m.Offset)
	dst = appendNumber(dst, 5, uint64(m.Filename))
	dst = appendNumber(dst, 6, uint64(m.BuildID))
	dst = appendTrue(dst, 7, m.HasFunctions)
	dst = appendTrue(dst, 8, m.HasFilenames)
	dst = appendTrue(dst, 9, m.HasLineNumbers)
	dst = appendTrue(dst, 10, m.HasInlineFrames)
	return closeMessage(dst, start)
}

// AppendLocation appends a location with these lines. It does not use l.LinesEnd.
func AppendLocation(dst []byte, l Location, lines []Line) []byte {
	dst, start := openMessage(dst, 4)
	dst = appendNumber(dst, 1, l.ID)
	dst = appendNumber(dst, 2, l.MappingID)
	dst = appendNumber(dst, 3, l.Address)
	for i := range lines {
		var line int
		dst, line = openMessage(dst, 4)
		dst = appendNumber(dst, 1, lines[i].FunctionID)
		dst = appendNumber(dst, 2, uint64(lines[i].Line))
		dst = appendNumber(dst, 3, uint64(lines[i].Column))
		dst = closeMessage(dst, line)
	}
	dst = appendTrue(dst, 5, l.IsFolded)
	return closeMessage(dst, start)
}

// AppendFunction appends a function.
func AppendFunction(dst []byte, f Function) []byte {
	dst, start := openMessage(dst, 5)
	dst = appendNumber(dst, 1, f.ID)
	dst = appendNumber(dst, 2, uint64(f.Name))
	dst = appendNumber(dst, 3, uint64(f.SystemName))
	dst = appendNumber(dst, 4, uint64(f.Filename))
	dst = appendNumber(dst, 5, uint64(f.StartLine))
	return closeMessage(dst, start)
}

// AppendString appends an entry of string_table.
func AppendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(append(dst, 6<<3|wireBytes), uint64(len(s)))
	return append(dst, s...)
}

// Header has the fields of Profile that are numbers. The unsigned ones are string indices.
type Header struct {
	DropFrames, KeepFrames    uint32
	TimeNanos, DurationNanos  int64
	Period                    int64
	Comments                  []uint32
	DefaultSampleType, DocURL uint32
}

// AppendHeader appends the fields of h.
func AppendHeader(dst []byte, h Header) []byte {
	dst = appendNumber(dst, 7, uint64(h.DropFrames))
	dst = appendNumber(dst, 8, uint64(h.KeepFrames))
	dst = appendNumber(dst, 9, uint64(h.TimeNanos))
	dst = appendNumber(dst, 10, uint64(h.DurationNanos))
	dst = appendNumber(dst, 12, uint64(h.Period))
	if len(h.Comments) > 0 {
		var packed int
		dst, packed = openMessage(dst, 13)
		for _, c := range h.Comments {
			dst = binary.AppendUvarint(dst, uint64(c))
		}
		dst = closeMessage(dst, packed)
	}
	dst = appendNumber(dst, 14, uint64(h.DefaultSampleType))
	return appendNumber(dst, 15, uint64(h.DocURL))
}

// openMessage appends the tag of a message and one byte for its length, which is usually enough.
func openMessage(dst []byte, field int) (longer []byte, start int) {
	dst = append(dst, byte(field<<3|wireBytes), 0)
	return dst, len(dst)
}

// closeMessage writes the length of the message that began at start. If the length needs more than one byte, it moves the
// message.
func closeMessage(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	extra := 0
	for rest := n >> 7; rest > 0; rest >>= 7 {
		dst = append(dst, 0)
		extra++
	}
	copy(dst[start+extra:], dst[start:start+n])
	for i := range extra {
		dst[start-1+i] = byte(n)&0x7f | 0x80
		n >>= 7
	}
	dst[start-1+extra] = byte(n)
	return dst
}

func appendNumber(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.AppendUvarint(append(dst, byte(field<<3|wireVarint)), v)
}

func appendTrue(dst []byte, field int, v bool) []byte {
	if !v {
		return dst
	}
	return append(dst, byte(field<<3|wireVarint), 1)
}
