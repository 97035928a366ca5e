// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// MaxDepth is the number of layers of compression that [Append] takes off.
const MaxDepth = 4

var (
	// ErrTooLarge says that more than the allowed bytes came out, or that more than [MaxDepth] layers are nested.
	ErrTooLarge = errors.New("payload too large")
	// ErrCorrupt says that the compressed form is damaged, truncated or followed by something else.
	ErrCorrupt = errors.New("corrupt compressed payload")
)

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// Plain reports whether src begins like neither gzip nor zstd, so that [Append] would only copy it.
// No protobuf message begins like either: both start with a wire type that does not exist or does not fit.
func Plain(src []byte) bool {
	return !hasPrefix(src, gzipMagic) && !hasPrefix(src, zstdMagic)
}

// Append appends the plain form of src to dst. src is plain, gzip (of one member or several) or zstd (of one frame or
// several), nested up to [MaxDepth] deep.
//
// No layer may yield more than limit bytes: the first byte above it ends the work with [ErrTooLarge]. Damaged,
// truncated and trailing input is [ErrCorrupt]. On an error the result is dst as it was, perhaps with more capacity.
//
// The result does not share memory with src. src must not overlap the capacity of dst.
func Append(dst, src []byte, limit int) ([]byte, error) {
	base := len(dst)
	limit = min(max(limit, 0), math.MaxInt-base)
	dst, err := appendLayer(dst, src, limit)
	for depth := 1; err == nil && !Plain(dst[base:]); depth++ {
		if depth == MaxDepth {
			err = fmt.Errorf("%w: more than %d layers of compression", ErrTooLarge, MaxDepth)
			break
		}
		dst, err = peel(dst, base, limit)
	}
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

// AppendReserving is [Append] that asks reserve before it takes memory, with all bytes that it then has taken: the room of
// the result behind dst, and that of outer layers. An error of reserve ends the work and is returned as it is.
func AppendReserving(dst, src []byte, limit int, reserve func(bytes int) error) ([]byte, error) {
	if err := reserve(0); err != nil {
		return dst, err
	}
	return Append(dst, src, limit)
}

// peel replaces the compressed bytes behind base by what they hold.
func peel(dst []byte, base, limit int) ([]byte, error) {
	outer := layers.Get().(*[]byte)
	*outer = append((*outer)[:0], dst[base:]...)
	dst, err := appendLayer(dst[:base], *outer, limit)
	if cap(*outer) <= maxPooledBytes {
		layers.Put(outer)
	}
	return dst, err
}

// layers holds copies of outer layers while the inner one is written where they stood. Nesting is rare.
var layers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooledBytes is the size of the largest buffer that is kept for the next call.
const maxPooledBytes = 1 << 20

// appendLayer takes one layer off. On an error, what is behind the old length of the result has no meaning.
func appendLayer(dst, src []byte, limit int) ([]byte, error) {
	switch {
	case hasPrefix(src, gzipMagic):
		return appendGzip(dst, src, limit)
	case hasPrefix(src, zstdMagic):
		return appendZstd(dst, src, limit)
	case len(src) > limit:
		return dst, tooLarge(limit)
	default:
		return append(dst, src...), nil
	}
}

func hasPrefix(src []byte, magic string) bool {
	return len(src) >= len(magic) && string(src[:len(magic)]) == magic
}

func tooLarge(limit int) error {
	return fmt.Errorf("%w: more than %d bytes after decompression", ErrTooLarge, limit)
}

func corrupt(format string, err error) error {
	return fmt.Errorf("cannot inflate %s: %w: %w", format, ErrCorrupt, err)
}

// grow returns dst with room for n more bytes behind its length, moved at most once.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	moved := make([]byte, len(dst), len(dst)+n)
	copy(moved, dst)
	return moved
}
