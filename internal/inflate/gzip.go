// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

const (
	// likelyRatio is how much a profile grows at most, as a rule. What grows more is not believed at once.
	likelyRatio = 16
	// smallest is the least space that a layer is given.
	smallest = 4 << 10
	// countAbove is the space from which on a layer is counted before it gets more.
	countAbove = 8 << 20
)

// gzipReader is a reader with all that it needs, so that a call takes no memory.
type gzipReader struct {
	src     bytes.Reader
	gz      gzip.Reader
	discard [16 << 10]byte
}

// gzipReaderBytes is what a gzipReader takes.
const gzipReaderBytes = 64 << 10

var gzipReaders scratch.Keeper[gzipReader]

func (t *taker) appendGzip(dst, src []byte, limit int) ([]byte, error) {
	t.held += gzipReaderBytes
	defer func() { t.held -= gzipReaderBytes }()
	if err := t.ask(0); err != nil {
		return dst, err
	}
	reader := gzipReaders.Get()
	if reader == nil {
		reader = new(gzipReader)
	}
	dst, err := reader.append(t, dst, src, limit)
	reader.src.Reset(nil)
	gzipReaders.Put(reader, gzipReaderBytes)
	return dst, err
}

func (r *gzipReader) append(t *taker, dst, src []byte, limit int) ([]byte, error) {
	base := len(dst)
	claim := gzipClaim(src)
	if uint64(claim) > uint64(limit) {
		return r.appendCounted(t, dst, src, limit) // Too large or corrupt: only which of the two is open.
	}
	dst, err := t.grow(dst, gzipCapacity(len(src), int(claim), limit))
	if err != nil {
		return dst, err
	}
	if err := r.reset(src); err != nil {
		return dst, err
	}
	for {
		space := dst[len(dst) : base+min(cap(dst)-base, limit)]
		n, err := readFull(&r.gz, space)
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, corruptGzip(err)
		}
		// The space is full. Mostly that was all of it.
		n, err = readFull(&r.gz, r.discard[:])
		switch {
		case len(dst)-base+n > limit:
			return dst, tooLarge(limit)
		case n == 0:
			return dst, corruptGzip(err)
		case len(dst)-base >= countAbove:
			return r.appendCounted(t, dst[:base], src, limit)
		}
		ended := err
		if dst, err = t.grow(dst, min(max(len(dst)-base, n), limit-(len(dst)-base))); err != nil {
			return dst, err
		}
		dst = append(dst, r.discard[:n]...)
		if ended != nil {
			return dst, corruptGzip(ended)
		}
	}
}

// appendCounted inflates src twice: first to learn its size, then into exactly that much space. This costs time, not
// memory, and concerns only what cannot be right and what is large and much larger than expected.
func (r *gzipReader) appendCounted(t *taker, dst, src []byte, limit int) ([]byte, error) {
	if err := r.reset(src); err != nil {
		return dst, err
	}
	size, err := count(&r.gz, r.discard[:], limit)
	if err != nil {
		return dst, corruptGzip(err)
	}
	if dst, err = t.grow(dst, size); err != nil {
		return dst, err
	}
	if err := r.reset(src); err != nil {
		return dst, err
	}
	n, err := io.ReadFull(&r.gz, dst[len(dst):len(dst)+size])
	return dst[:len(dst)+n], corruptGzip(err)
}

func (r *gzipReader) reset(src []byte) error {
	r.src.Reset(src)
	err := r.gz.Reset(&r.src)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return corruptGzip(err)
}

// corruptGzip says of an error that it is one of the input, if it is. The end is none.
func corruptGzip(err error) error {
	if err = notEOF(err); err == nil || errors.Is(err, ErrTooLarge) {
		return err
	}
	return corrupt("gzip", err)
}

// gzipClaim is what src says of the size of its last member, modulo 2^32.
func gzipClaim(src []byte) uint32 {
	if len(src) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(src[len(src)-4:])
}

// gzipCapacity is the space to begin with: what is claimed, within reason.
func gzipCapacity(compressed, claim, limit int) int {
	if compressed < limit/likelyRatio {
		limit = max(compressed*likelyRatio, min(smallest, limit))
	}
	return min(claim, limit)
}

// count reads all of r through scratch and returns its size, or ErrTooLarge as soon as that is above limit.
func count(r io.Reader, scratch []byte, limit int) (int, error) {
	size := 0
	for {
		n, err := r.Read(scratch)
		if n > limit-size {
			return 0, tooLarge(limit)
		}
		size += n
		if err != nil {
			return size, notEOF(err)
		}
	}
}

// readFull fills space. The error is io.EOF when r ended before, and nil when space is full.
func readFull(r io.Reader, space []byte) (n int, err error) {
	for n < len(space) && err == nil {
		var got int
		got, err = r.Read(space[n:])
		n += got
	}
	return n, err
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
