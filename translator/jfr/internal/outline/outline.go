// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"encoding/binary"
	"strconv"
)

// Magic is what every chunk of a recording begins with.
const Magic = "FLR\x00"

const (
	headerBytes  = 68
	majorVersion = 2
	// compressedIntegers is the bit of the features which says that integers have a variable length.
	compressedIntegers = 1
)

// Limits bound what a recording may hold. All must be positive.
type Limits struct {
	// Events is the number of values that the events make: one or two each.
	Events int
	// FramesPerStack is the depth of one stack.
	FramesPerStack int
	// StringBytes is the length of one string.
	StringBytes int
	// Strings and Methods are the numbers of entries of the constant pools.
	Strings, Methods int

	// Reserve, when set, is called before memory is allocated, with all bytes that the outline and the parser then use. The
	// number never falls. An error ends the reading.
	Reserve func(bytes int64) error
}

// These limits only bound the time that a hostile recording takes. Ordinary recordings are far below.
const (
	// maxChunks is more than a recording of a minute has by far: the JDK begins another after 12 MB.
	maxChunks = 4096
	// maxClasses and maxFields are for one chunk and one class. The JDK has 250 classes of up to 30 fields.
	maxClasses = 16_384
	maxFields  = 256
	// maxPools is the number of constant pools of all chunks.
	maxPools = 1_000_000
)

// Recording is the outline of a recording.
type Recording struct {
	Chunks []Chunk
	// Events is how many events there are of each kind.
	Events [numKinds]int
	// Settings are those of the recorder and of its events.
	Settings Settings
	// ParserBytes is what the parser allocates, OwnBytes what the outline takes.
	ParserBytes, OwnBytes int64
}

// Chunk is one part of a recording, with constant pools of its own.
type Chunk struct {
	// Parsed is the number of events that the parser returns, those of Settings included.
	Parsed int
	// Stacks has where the types of the frames of each stack begin, in the order of the constant pools.
	Stacks []uint32
	// FrameTypes has the type of each frame: an entry of the constant pool, or [NoFrameType].
	FrameTypes []byte
	// Methods is the number of methods in the constant pools.
	Methods int

	tables tables
}

// NoFrameType says that the type of a frame is unknown.
const NoFrameType = 0xff

// FrameTypesOf returns the types of the frames of a stack, by its position in the constant pools.
func (c *Chunk) FrameTypesOf(stack int) []byte {
	start, end := c.Stacks[stack], uint32(len(c.FrameTypes))
	if stack+1 < len(c.Stacks) {
		end = c.Stacks[stack+1]
	}
	return c.FrameTypes[start:end]
}

// reader reads one recording. Its data are those of the current chunk, from the start of the chunk.
type reader struct {
	limits Limits
	out    *Recording
	chunk  *Chunk
	// start is where the chunk begins in the recording.
	start int
	data  []byte

	byID    map[int64]*class
	byName  map[string]*class
	strings []string
	frame   *class
	// frameType says that the last field of a frame is its type, as the JDK and async-profiler write it.
	frameType bool
	// parsed has the classes of events that the parser reads by their number, for small numbers.
	parsed []*class

	pools, reservedOwn int64
	values             int
	stringsLeft        int
	methodsLeft        int
	// before is what the parser takes for the chunks before this one.
	before int64
}

// Read walks over a recording. The error is [ErrMalformed], [ErrTooLarge] or that of Reserve.
func Read(data []byte, limits Limits) (*Recording, error) {
	r := &reader{limits: limits, out: &Recording{}, stringsLeft: limits.Strings, methodsLeft: limits.Methods}
	if len(data) == 0 {
		return nil, malformed(0, "no chunk")
	}
	for pos := 0; pos < len(data); {
		if len(r.out.Chunks) == maxChunks {
			return nil, TooLarge("chunks", maxChunks+1, maxChunks)
		}
		size, err := r.readChunk(data, pos)
		if err != nil {
			return nil, err
		}
		pos += size
	}
	r.out.ParserBytes = r.parserBytes()
	r.out.OwnBytes = r.reservedOwn
	return r.out, nil
}

// readChunk reads the chunk at a position and returns its size.
func (r *reader) readChunk(data []byte, pos int) (size int, err error) {
	h, err := readHeader(data, pos)
	if err != nil {
		return 0, err
	}
	if err := r.reserve(chunkBytes); err != nil {
		return 0, err
	}
	r.out.Chunks = append(r.out.Chunks, Chunk{})
	r.chunk = &r.out.Chunks[len(r.out.Chunks)-1]
	r.start, r.data = pos, data[pos:pos+h.size]
	if err := r.readMetadata(h.metadata); err != nil {
		return 0, err
	}
	if err := r.readPools(h.pools); err != nil {
		return 0, err
	}
	if err := r.readEvents(); err != nil {
		return 0, err
	}
	if err := r.reserve(0); err != nil {
		return 0, err
	}
	r.before += r.chunk.tables.bytes()
	r.chunk = nil
	return h.size, nil
}

// header is what the outline needs of the header of a chunk.
type header struct{ size, pools, metadata int }

func readHeader(data []byte, pos int) (h header, err error) {
	rest := data[pos:]
	if len(rest) < headerBytes {
		return h, malformed(pos, "the header of a chunk has %d bytes, %d are left", headerBytes, len(rest))
	}
	if string(rest[:4]) != Magic {
		return h, malformed(pos, "a chunk does not begin with %q", Magic)
	}
	if version := binary.BigEndian.Uint16(rest[4:]); version != majorVersion {
		return h, malformed(pos, "version %d of the format, only %d is known", version, majorVersion)
	}
	if features := binary.BigEndian.Uint32(rest[64:]); features&compressedIntegers == 0 {
		return h, malformed(pos, "the chunk has integers of fixed length (features %#x), which are not supported", features)
	}
	for _, field := range []struct {
		name   string
		at     int
		target *int
		least  uint64
		most   uint64
	}{
		{"size of the chunk", 8, &h.size, headerBytes, uint64(len(rest))},
		{"position of the constant pools", 16, &h.pools, headerBytes, binary.BigEndian.Uint64(rest[8:]) - 1},
		{"position of the metadata", 24, &h.metadata, headerBytes, binary.BigEndian.Uint64(rest[8:]) - 1},
	} {
		value := binary.BigEndian.Uint64(rest[field.at:])
		if value < field.least || value > field.most {
			return h, malformed(pos, "%s: %d, it must be from %d to %d", field.name, value, field.least, field.most)
		}
		*field.target = int(value)
	}
	return h, nil
}

// fail returns an error with a position in the chunk.
func (r *reader) fail(pos int, format string, args ...any) error {
	return malformed(r.start+pos, format, args...)
}

// cut is the error for what ends within a value.
func (r *reader) cut(pos int, what string) error {
	return r.fail(pos, "%s ends within a value, or a value is too long", what)
}

func (r *reader) checkString(pos, bytes int) error {
	if bytes > r.limits.StringBytes {
		return TooLarge("bytes of the string at byte "+strconv.Itoa(r.start+pos), bytes, r.limits.StringBytes)
	}
	return nil
}
