// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"fmt"
	"math"

	"github.com/otelpprof/otelpprof/internal/scratch"
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
	return AppendReserving(dst, src, limit, nil)
}

// AppendReserving is [Append] that asks reserve before it takes memory, with all bytes that it then has taken: the space of
// the result behind dst, that of outer layers, and what decompression itself needs. Space that dst has already counts as
// taken when it is used. The number never falls. An error of reserve ends the work and is returned as it is.
func AppendReserving(dst, src []byte, limit int, reserve func(bytes int) error) ([]byte, error) {
	base := len(dst)
	t := taker{reserve: reserve, base: base}
	limit = min(max(limit, 0), math.MaxInt-base)
	dst, err := t.appendLayer(dst, src, limit)
	for depth := 1; err == nil && !Plain(dst[base:]); depth++ {
		if depth == MaxDepth {
			err = fmt.Errorf("%w: more than %d layers of compression", ErrTooLarge, MaxDepth)
			break
		}
		dst, err = t.peel(dst, limit)
	}
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

// peel replaces the compressed bytes behind the base by what they hold.
func (t *taker) peel(dst []byte, limit int) ([]byte, error) {
	compressed := len(dst) - t.base
	if err := t.ask(2 * compressed); err != nil {
		return dst, err
	}
	outer := layers.Get()
	if outer == nil {
		outer = new([]byte)
	}
	*outer = append(grow((*outer)[:0], compressed), dst[t.base:]...)
	t.held += compressed
	dst, err := t.appendLayer(dst[:t.base], *outer, limit)
	t.held -= compressed
	layers.Put(outer, cap(*outer))
	return dst, err
}

// layers holds copies of outer layers while the inner one is written where they stood. Nesting is rare.
var layers scratch.Keeper[[]byte]

// appendLayer takes one layer off. On an error, what is behind the old length of the result has no meaning.
func (t *taker) appendLayer(dst, src []byte, limit int) ([]byte, error) {
	switch {
	case hasPrefix(src, gzipMagic):
		return t.appendGzip(dst, src, limit)
	case hasPrefix(src, zstdMagic):
		return t.appendZstd(dst, src, limit)
	case len(src) > limit:
		return dst, tooLarge(limit)
	default:
		dst, err := t.grow(dst, len(src))
		if err != nil {
			return dst, err
		}
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
