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

// MaxDepth is the number of nested layers of compression that [Append] decompresses.
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

// Plain reports whether src is not compressed: it begins with neither magic number, and [Append] would only copy it. No
// pprof begins with one of them: the first byte of gzip has wire type 7, which does not exist, and that of zstd is the tag
// of field 5 with a varint, which is a message in a pprof.
func Plain(src []byte) bool {
	return !bytes.HasPrefix(src, []byte(gzipMagic)) && !bytes.HasPrefix(src, []byte(zstdMagic))
}

// Open returns the plain form of src: src itself if it is [Plain], which limit does not apply to, or else the content of buffer, which it
// overwrites. It is [Append], and leaves the memory of the content in use.
func Open(buffer *[]byte, src []byte, limit int, work *meter.Meter) (plain []byte, largest int, err error) {
	if Plain(src) {
		return src, len(src), nil
	}
	*buffer, largest, err = Append((*buffer)[:0], src, limit, work)
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

// Append appends the plain form of src to dst. src is plain, gzip (of one member or several) or zstd (of one frame or
// several), nested up to [MaxDepth] deep.
//
// No layer may decompress to more than limit bytes: else the error is [ErrTooLarge]. Damaged, truncated and trailing input is
// [ErrCorrupt]. On an error the result is dst as it was, perhaps with more capacity.
//
// work counts the result, the outer layers and the decompressor beside what it already uses, and what is read of the layers as work done.
// The existing capacity of dst counts as soon as that is used. Append returns an error of work unchanged.
//
// largest is the size of the largest layer, which is at most limit. With an error, it is the size up to there: to refuse a payload
// can cost as much time as to accept it, and a caller can limit that.
//
// The result does not share memory with src. src must not overlap the capacity of dst.
func Append(dst, src []byte, limit int, work *meter.Meter) (result []byte, largest int, err error) {
	base := len(dst)
	limit = min(max(limit, 0), math.MaxInt-base)
	t := inflaters.GetOrNew()
	*t = inflater{meter: work, base: base, mostRead: mostRead(len(src), limit)}
	defer t.release()
	dst, err = t.appendLayers(dst, src, limit)
	if err != nil {
		dst = dst[:base]
	}
	return dst, min(t.largest, limit), err
}

// appendLayers decompresses all layers. On an error, the content of the result after the base is undefined.
func (t *inflater) appendLayers(dst, src []byte, limit int) ([]byte, error) {
	dst, err := t.appendLayer(dst, src, limit)
	for depth := 1; err == nil && !Plain(dst[t.base:]); depth++ {
		if depth == MaxDepth {
			return dst, fmt.Errorf("%w: more than %d layers of compression", ErrTooLarge, MaxDepth)
		}
		dst, err = t.appendNested(dst, limit)
	}
	return dst, err
}

// appendNested replaces the compressed bytes after the base with their decompressed form.
func (t *inflater) appendNested(dst []byte, limit int) ([]byte, error) {
	t.overwritten = cap(dst) - t.base
	outer, err := t.copyLayer(dst[t.base:])
	if err != nil {
		return dst, err
	}
	return t.appendLayer(dst[:t.base], outer, limit)
}

// copyLayer returns a copy of an outer layer. It is valid until the next call, or release.
func (t *inflater) copyLayer(layer []byte) ([]byte, error) {
	if len(layer) > t.copied {
		t.working += len(layer) // A smaller copy before is garbage, but counts, too.
		t.copied = len(layer)
	}
	if err := t.need(0); err != nil {
		return nil, err
	}
	if t.outer == nil {
		t.outer = layers.GetOrNew()
	}
	*t.outer = append(grow((*t.outer)[:0], len(layer)), layer...)
	return *t.outer, nil
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

// layers keeps buffers for copies of outer layers: the decompressed inner layer overwrites the outer one in dst.
var layers scratch.Keeper[[]byte]

// appendLayer decompresses one layer. On an error, the content of the result after the old length is undefined.
func (t *inflater) appendLayer(dst, src []byte, limit int) ([]byte, error) {
	switch {
	case bytes.HasPrefix(src, []byte(gzipMagic)):
		return t.appendGzip(dst, src, limit)
	case bytes.HasPrefix(src, []byte(zstdMagic)):
		return t.appendZstd(dst, src, limit)
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
