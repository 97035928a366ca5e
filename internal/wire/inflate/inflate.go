// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inflate decompresses gzip and zstd payloads up to a limit. Compression may be nested.
//
// The limit applies to each layer, and is checked before the memory is allocated. The sizes in the headers and trailers of a
// payload are only hints. A payload with an unusually high compression ratio is decompressed twice: first into a small
// buffer, to count its bytes. Readers are pooled: if the destination is large enough, a call allocates nothing.
package inflate // import "github.com/otelpprof/otelpprof/internal/wire/inflate"

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// MaxDepth is the number of nested layers of compression that [Into] decompresses.
const MaxDepth = 4

var (
	// ErrTooLarge says that the decompressed payload is above the limit, that more than [MaxDepth] layers are nested, that these are too
	// long together, or that a layer of zstd has more than 10,000 frames.
	ErrTooLarge = errors.New("payload too large")
	// ErrCorrupt says that the compressed form is damaged, truncated or followed by something else.
	ErrCorrupt = errors.New("corrupt compressed payload")
)

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// Plain reports whether src is not compressed: it begins with neither magic number, and [Into] would only copy it. No
// pprof begins with one of them: the first byte of gzip has wire type 7, which does not exist, and that of zstd is the tag
// of field 5 with a varint, which is a message in a pprof.
func Plain(src []byte) bool {
	return !bytes.HasPrefix(src, []byte(gzipMagic)) && !bytes.HasPrefix(src, []byte(zstdMagic))
}

// Open returns the plain form of src: src itself if it is [Plain], which limit does not apply to, or else the content of buffer, which it
// overwrites. It is [Into], and leaves the memory of the content in use.
func Open(buffer *[]byte, src []byte, limit int, work *meter.Meter) (plain []byte, largest int, err error) {
	if Plain(src) {
		return src, len(src), nil
	}
	*buffer, largest, err = Into(*buffer, src, limit, work)
	if err == nil {
		err = work.Use(int64(cap(*buffer)))
	}
	return *buffer, largest, err
}

// Payload is what the errors of a decoder say of its payloads: their name, such as recording, and its classes of errors.
type Payload struct {
	Name                string
	Malformed, TooLarge error
}

// Open is the function [Open], but the limit is also for a payload that is not compressed, and an error that is not of the meter has
// a class of the decoder.
func (p Payload) Open(buffer *[]byte, src []byte, limit int, work *meter.Meter) (plain []byte, largest int, err error) {
	plain, largest, err = Open(buffer, src, limit, work)
	switch {
	case err == nil && len(plain) > limit:
		return nil, 0, fmt.Errorf("%w: bytes of the %s: %d, the limit is %d", p.TooLarge, p.Name, len(plain), limit)
	case errors.Is(err, ErrTooLarge):
		err = fmt.Errorf("%w: %w", p.TooLarge, err)
	case errors.Is(err, ErrCorrupt):
		err = fmt.Errorf("%w: %w", p.Malformed, err)
	}
	return plain, largest, err
}

// Into returns the plain form of src, in the memory of buffer if that is enough. Its content is overwritten. src is plain, gzip (of one member
// or several) or zstd (of one frame or several), nested up to [MaxDepth] deep.
//
// No layer may decompress to more than limit bytes: else the error is [ErrTooLarge]. Damaged, truncated and trailing input is
// [ErrCorrupt]. On an error the result is empty, perhaps with more capacity than buffer.
//
// work counts the result, the outer layers and the decompressor beside what it already uses, and what is read of the layers as work done.
// The existing capacity of buffer counts as soon as that is used. Into returns an error of work unchanged.
//
// largest is the size of the largest layer, which is at most limit. With an error, it is the size up to there: to refuse a payload
// can cost as much time as to accept it, and a caller can limit that.
//
// The result does not share memory with src. src must not overlap the capacity of buffer.
func Into(buffer, src []byte, limit int, work *meter.Meter) (plain []byte, largest int, err error) {
	limit = max(limit, 0)
	t := inflaters.GetOrNew()
	// The outer layer alone does not reach this limit.
	*t = inflater{meter: work, mostRead: passes*int64(len(src)) + nestedFactor*min(int64(limit), math.MaxInt64/(2*nestedFactor))}
	defer t.release()
	plain, err = t.layer(buffer[:0], src, limit)
	for depth := 1; err == nil && !Plain(plain); depth++ {
		if depth == MaxDepth {
			err = fmt.Errorf("%w: more than %d layers of compression", ErrTooLarge, MaxDepth)
			break
		}
		if err = t.copyLayer(plain); err == nil {
			plain, err = t.layer(plain[:0], *t.outer, limit)
		}
	}
	if err != nil {
		plain = plain[:0]
	}
	return plain, min(t.largest, limit), err
}

// copyLayer copies an outer layer to t.outer, since the inner one overwrites it.
func (t *inflater) copyLayer(layer []byte) error {
	t.overwritten = cap(layer)
	t.working += len(layer) // An earlier copy counts, too, although this one can have its memory.
	if err := t.need(0); err != nil {
		return err
	}
	if t.outer == nil {
		t.outer = layers.GetOrNew()
	}
	if cap(*t.outer) < len(layer) {
		*t.outer = newBuffer(len(layer))
	}
	*t.outer = append((*t.outer)[:0], layer...)
	return nil
}

// release returns the buffer for outer layers and t to their pools.
func (t *inflater) release() {
	if t.outer != nil {
		Free(t.outer)
		layers.Put(t.outer, cap(*t.outer))
	}
	*t = inflater{}
	inflaters.Put(t, int(unsafe.Sizeof(*t)))
}

// inflaters keeps inflaters, which are not on the stack because readers refer to them.
var inflaters scratch.Keeper[inflater]

// layers keeps buffers for copies of outer layers.
var layers scratch.Keeper[[]byte]

// layer decompresses one layer into dst, which is empty. On an error, the content of the result is undefined.
func (t *inflater) layer(dst, src []byte, limit int) ([]byte, error) {
	switch {
	case bytes.HasPrefix(src, []byte(gzipMagic)):
		return t.gzip(dst, src, limit)
	case bytes.HasPrefix(src, []byte(zstdMagic)):
		return t.zstd(dst, src, limit)
	case len(src) > limit:
		return dst, tooLarge(limit)
	default:
		dst, err := t.grow(dst, len(src))
		if err != nil {
			return dst, err
		}
		t.produced(len(src))
		return append(dst, src...), nil
	}
}

func tooLarge(limit int) error {
	return fmt.Errorf("%w: more than %d bytes after decompression", ErrTooLarge, limit)
}
