// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

var (
	// ErrMalformed says that a body is not a valid OTLP request: unmarshalling it would fail.
	ErrMalformed = errors.New("malformed OTLP request")
	// ErrTooDeep says that an attribute value is nested deeper than [attributevalue.MaxDepth].
	ErrTooDeep = fmt.Errorf("attribute values nested too deep: more than %d lists or maps within one another", attributevalue.MaxDepth)
)

// Signal is the kind of data in a request.
type Signal uint8

// The signals of OTLP.
const (
	Logs Signal = iota
	Traces
	Metrics
	Profiles
)

var roots = [...]messageID{Logs: logsRequest, Traces: tracesRequest, Metrics: metricsRequest, Profiles: profilesRequest}

// requestBytes is the memory of an empty request.
const requestBytes = 512

// frame is a message that Count has entered.
type frame struct {
	end     int
	message messageID
}

// usualDepth is the depth of messages without nested attribute values. Only for deeper ones does Count allocate memory.
const usualDepth = 24

// Count returns an upper bound for the bytes that the protobuf body of a request needs after unmarshalling, without body
// itself. The errors are [ErrMalformed] and [ErrTooDeep]. There is no ErrMalformed for a body that pdata can unmarshal.
func Count(signal Signal, body []byte) (int64, error) {
	var (
		stack   [usualDepth]frame
		parents = stack[:0]
		current = frame{end: len(body), message: roots[signal]}
		b       = body // up to the end of current
		fields  = messages[current.message]
		total   = int64(requestBytes)
		nesting int
		pos     int
	)
	for {
		if pos == current.end {
			if len(parents) == 0 {
				return total, nil
			}
			if isNesting(current.message) {
				nesting--
			}
			current = parents[len(parents)-1]
			parents = parents[:len(parents)-1]
			b, fields = body[:current.end], messages[current.message]
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
		case f.kind == ignored:
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
				if isNesting(f.message) && nesting == attributevalue.MaxDepth {
					return 0, ErrTooDeep
				}
				if f.message == leaf || length == 0 {
					break
				}
				if isNesting(f.message) {
					nesting++
				}
				parents = append(parents, current)
				current = frame{end: pos + length, message: f.message}
				b, fields = body[:current.end], messages[current.message]
				continue
			case text:
				total += int64(f.bytes) + textBytes(length)
			case packed:
				total += int64(f.bytes) * int64(pprofwire.CountVarints(content))
			case packedFixed64:
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

// isNesting reports whether a message is an attribute value with other values: a list or a map.
func isNesting(m messageID) bool { return m == arrayValue || m == keyValueList }

func malformed(pos int) error { return fmt.Errorf("%w: at byte %d", ErrMalformed, pos) }

// textBytes returns an upper bound for the memory of a string of this length. Go's size classes round up by at most a
// quarter for large strings, and by at most 16 bytes for small ones.
func textBytes(length int) int64 {
	if length == 0 {
		return 0
	}
	return int64(length) + int64(length)/4 + 16
}
