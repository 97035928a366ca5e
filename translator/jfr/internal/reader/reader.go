// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reader reads recordings of JDK Flight Recorder.
//
// [Read] finds the classes and the constants of all chunks. It keeps no content, only the position of each constant, so its memory is
// a small multiple of their number. [Chunk.Events] then reads the events. A recording can name any class, number and position: each is
// checked before it is used, each loop ends with the bytes of the chunk, and nothing is allocated for a number alone.
package reader // import "github.com/otelpprof/otelpprof/translator/jfr/internal/reader"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

var (
	// ErrMalformed says that a recording violates the format.
	ErrMalformed = errors.New("malformed JFR recording")
	// ErrTooLarge says that a recording exceeds a limit.
	ErrTooLarge = errors.New("JFR recording exceeds a limit")
)

// Malformed returns an ErrMalformed.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an ErrTooLarge.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

// magic is the start of every chunk.
const magic = "FLR\x00"

const (
	headerBytes  = 68
	majorVersion = 2
	// compressedIntegers is the bit of the features which says that integers have a variable length.
	compressedIntegers = 1
	// maxChunks is far more than a recording of a minute has: the JDK begins another chunk after 12 MB.
	maxChunks = 4096
	// chunkBytes is the memory of a chunk without classes and constants.
	chunkBytes = 4 << 10
)

// Options are what [Read] needs.
type Options struct {
	Limits *pprof.Limits
	// Need is called before memory is allocated, with the total number of bytes. Read returns its error.
	Need func(total int64) error
	// Kind returns Class.Kind for the name of a class.
	Kind func(name string) int
}

// Chunk is a part of a recording with classes and constants of its own. It is not safe for concurrent use.
type Chunk struct {
	cursor
	// StartNanos is the time at StartTicks in nanoseconds since 1970.
	StartNanos, DurationNanos, StartTicks, TicksPerSecond uint64

	classes map[uint64]*Class
	pools   [numPools]pool
	// frames are those of the last stack. They have no class if the metadata have none.
	frames Frames
	values Values
}

// reader reads the chunks of a recording.
type reader struct {
	cursor
	opts    *Options
	chunk   *Chunk
	strings []string
	// classes are those of the chunk, in their order.
	classes []*Class
	values  Values
	// total is the memory for all chunks in bytes.
	total int64
}

// Read reads the classes and constants of all chunks. The chunks refer to data. The error is [ErrMalformed], [ErrTooLarge] or that of
// Options.Need.
func Read(data []byte, opts *Options) (chunks []*Chunk, err error) {
	if len(data) == 0 {
		return nil, Malformed("no chunk")
	}
	r := &reader{cursor: cursor{limits: opts.Limits}, opts: opts}
	for start := 0; start < len(data) && r.err == nil; {
		if len(chunks) == maxChunks {
			return nil, TooLarge("chunks", maxChunks+1, maxChunks)
		}
		if !r.need(chunkBytes) {
			break
		}
		r.chunk = &Chunk{}
		chunks = append(chunks, r.chunk)
		start += r.readChunk(data[start:], start)
	}
	return chunks, r.err
}

// readChunk reads the first chunk of data and returns its size. start is its position in the recording.
func (r *reader) readChunk(data []byte, start int) int {
	r.data, r.pos, r.start = data, 0, start
	size, pools, metadata := r.readHeader()
	if r.err != nil {
		return 0
	}
	r.data = data[:size]
	r.readMetadata(metadata)
	if r.err == nil {
		r.readPools(pools)
	}
	r.chunk.cursor = r.cursor
	r.chunk.lazy = true
	if stacks := r.chunk.pools[Stacks].class; stacks != nil {
		for i := range stacks.fields {
			if f := &stacks.fields[i]; f.field == frames && f.array && f.form == object {
				r.chunk.frames.class = f.class
			}
		}
	}
	return size
}

// readHeader returns the size of the chunk, and the positions of its constants and its metadata.
func (r *reader) readHeader() (size, pools, metadata int) {
	h := r.data
	switch {
	case len(h) < headerBytes:
		r.fail(0, "the header of a chunk has %d bytes, %d are left", headerBytes, len(h))
		return 0, 0, 0
	case string(h[:4]) != magic:
		r.fail(0, "a chunk does not begin with %q", magic)
	case binary.BigEndian.Uint16(h[4:]) != majorVersion:
		r.fail(0, "version %d of the format, only %d is known", binary.BigEndian.Uint16(h[4:]), majorVersion)
	case binary.BigEndian.Uint32(h[64:])&compressedIntegers == 0:
		r.fail(0, "the chunk has integers of fixed length (features %#x), which are not supported", binary.BigEndian.Uint32(h[64:]))
	case len(h) > math.MaxInt32: // See Constant.pos.
		r.tooLarge("bytes of the recording after a chunk begins", len(h), math.MaxInt32)
	}
	number := func(name string, at int, least, most uint64) int {
		value := binary.BigEndian.Uint64(h[at:])
		if value < least || value > most {
			r.fail(0, "%s: %d, it must be from %d to %d", name, value, least, most)
		}
		return int(value)
	}
	size = number("size of the chunk", 8, headerBytes, uint64(len(h)))
	pools = number("position of the constant pools", 16, headerBytes, uint64(size)-1)
	metadata = number("position of the metadata", 24, headerBytes, uint64(size)-1)
	c := r.chunk
	for i, field := range []*uint64{&c.StartNanos, &c.DurationNanos, &c.StartTicks, &c.TicksPerSecond} {
		*field = binary.BigEndian.Uint64(h[32+8*i:])
	}
	return size, pools, metadata
}

// need adds bytes to those that were needed. It reports false after an error.
func (r *reader) need(bytes int64) bool {
	r.total += bytes
	if r.err == nil {
		r.err = r.opts.Need(r.total)
	}
	return r.err == nil
}
