// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"errors"
	"fmt"
	"math/bits"
)

var (
	// ErrMalformed says that a body is no OTLP request: unmarshalling it would fail.
	ErrMalformed = errors.New("malformed OTLP request")
	// ErrTooDeep says that attribute values are nested deeper than allowed.
	ErrTooDeep = errors.New("attribute values nested too deep")
)

// Signal is what a request has.
type Signal uint8

// The signals of OTLP.
const (
	Logs Signal = iota
	Traces
	Metrics
	Profiles
)

var roots = [...]messageID{Logs: logsRequest, Traces: tracesRequest, Metrics: metricsRequest, Profiles: profilesRequest}

// requestBytes is what a request takes that has nothing in it.
const requestBytes = 512

// frame is a message that is being walked.
type frame struct {
	end     int
	message messageID
}

// usualDepth is how deep messages are nested that have no nested attribute values. The walk takes memory for what is
// deeper.
const usualDepth = 24

// Count returns how many bytes the protobuf message body of a request takes after unmarshalling, without body itself.
// Values may be nested maxNesting levels deep; one that is not nested has one level. The errors are [ErrMalformed] and
// [ErrTooDeep]. What pdata unmarshals and is not too deep is counted without an error.
func Count(signal Signal, body []byte, maxNesting int) (int64, error) {
	var (
		stack   [usualDepth]frame
		parents = stack[:0]
		now     = frame{end: len(body), message: roots[signal]}
		b       = body // up to the end of now
		fields  = messages[now.message]
		total   = int64(requestBytes)
		nesting int
		pos     int
	)
	for {
		if pos == now.end {
			if len(parents) == 0 {
				return total, nil
			}
			if now.message == anyValue {
				nesting--
			}
			now = parents[len(parents)-1]
			parents = parents[:len(parents)-1]
			b, fields = body[:now.end], messages[now.message]
			continue
		}
		tag, next, ok := uint64(b[pos]), pos+1, true
		if tag >= 0x80 {
			tag, next, ok = varint(b, pos)
		}
		if !ok || int32(tag>>3) <= 0 {
			return 0, malformed(pos)
		}
		pos = next
		var f field
		if number := int(int32(tag >> 3)); number < len(fields) {
			f = fields[number]
		}
		wire := tag & 7
		switch {
		case f.kind == other:
			pos, ok = skip(b, pos, wire)
		case wire == wireBytes:
			var length int
			if length, pos, ok = lengthAt(b, pos); !ok {
				return 0, malformed(pos)
			}
			content := b[pos : pos+length]
			switch f.kind {
			case message:
				total += int64(f.bytes)
				if f.message == anyValue && nesting == maxNesting {
					return 0, fmt.Errorf("%w: more than %d levels", ErrTooDeep, maxNesting)
				}
				if f.message == leaf || length == 0 {
					break
				}
				if f.message == anyValue {
					nesting++
				}
				parents = append(parents, now)
				now = frame{end: pos + length, message: f.message}
				b, fields = body[:now.end], messages[now.message]
				continue
			case text:
				total += int64(f.bytes) + textBytes(length)
			case packed:
				total += int64(f.bytes) * int64(entries(content))
			case packed8:
				total += int64(f.bytes) * int64((length+7)/8)
			default:
				ok = false
			}
			pos += length
		default:
			total += int64(f.bytes)
			pos, ok = skip(b, pos, wire)
			ok = ok && f.kind != message && f.kind != text
		}
		if !ok {
			return 0, malformed(pos)
		}
	}
}

func malformed(pos int) error { return fmt.Errorf("%w: at byte %d", ErrMalformed, pos) }

// textBytes is what a string of so many bytes takes in the size classes of Go: up to a quarter more for large ones, and
// up to 16 bytes for small ones.
func textBytes(length int) int64 {
	if length == 0 {
		return 0
	}
	return int64(length) + int64(length)/4 + 16
}

// entries counts the varints of a packed list: the bytes that end one.
func entries(list []byte) int {
	const ends = 0x8080808080808080
	n := 0
	for len(list) >= 8 {
		word := uint64(list[0]) | uint64(list[1])<<8 | uint64(list[2])<<16 | uint64(list[3])<<24 |
			uint64(list[4])<<32 | uint64(list[5])<<40 | uint64(list[6])<<48 | uint64(list[7])<<56
		n += bits.OnesCount64(^word & ends)
		list = list[8:]
	}
	for _, b := range list {
		if b < 0x80 {
			n++
		}
	}
	return n
}
