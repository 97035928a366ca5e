// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

const (
	// likelyRatio is the largest usual compression ratio of a profile. A larger size hint is not trusted.
	likelyRatio = 16
	// smallest is the least capacity for a layer.
	smallest = 4 << 10
	// countAbove is the size above which a layer is counted before the buffer grows further.
	countAbove = 8 << 20
)

// gzipReader is a reader with its buffers. It is pooled, so that a call allocates nothing.
type gzipReader struct {
	short   bytes.Reader
	src     source
	gz      gzip.Reader
	discard [16 << 10]byte
}

// gzipReaderBytes is the memory of a gzipReader.
const gzipReaderBytes = 64 << 10

var gzipReaders scratch.Keeper[gzipReader]

func (t *inflater) gzip(dst, src []byte, limit int) ([]byte, error) {
	t.working += gzipReaderBytes
	defer func() { t.working -= gzipReaderBytes }()
	if err := t.need(0); err != nil {
		return dst, err
	}
	reader := gzipReaders.GetOrNew()
	dst, err := reader.append(t, dst, src, limit)
	reader.src = source{}
	reader.short.Reset(nil)
	gzipReaders.Put(reader, gzipReaderBytes)
	return dst, err
}

func (r *gzipReader) append(t *inflater, dst, src []byte, limit int) ([]byte, error) {
	hint := uint32(0) // the size of the last member according to its trailer, modulo 2^32
	if len(src) >= 4 {
		hint = binary.LittleEndian.Uint32(src[len(src)-4:])
	}
	if uint64(hint) > uint64(limit) {
		return r.appendCounted(t, dst, src, limit) // It is too large or corrupt. Counting tells which.
	}
	most := limit // The first capacity is the hint, up to this.
	if len(src) < limit/likelyRatio {
		most = max(len(src)*likelyRatio, min(smallest, limit))
	}
	dst, err := t.grow(dst, min(int(hint), most))
	if err != nil {
		return dst, err
	}
	if err := r.reset(t, src); err != nil {
		return dst, err
	}
	for {
		space := dst[len(dst):min(cap(dst), limit)]
		n, err := readFull(&r.gz, space)
		dst = dst[:len(dst)+n]
		t.produced(len(dst))
		if err != nil {
			return dst, t.corruptGzip(err)
		}
		// The buffer is full. Usually the input ends here.
		n, err = readFull(&r.gz, r.discard[:])
		t.produced(len(dst) + n)
		switch {
		case len(dst)+n > limit:
			return dst, tooLarge(limit)
		case n == 0:
			return dst, t.corruptGzip(err)
		case len(dst) >= countAbove:
			return r.appendCounted(t, dst[:0], src, limit)
		}
		ended := err
		if dst, err = t.grow(dst, min(max(len(dst), n), limit-len(dst))); err != nil {
			return dst, err
		}
		dst = append(dst, r.discard[:n]...)
		if ended != nil {
			return dst, t.corruptGzip(ended)
		}
	}
}

// appendCounted decompresses src twice: first to count its bytes, then into a buffer of exactly that size. This costs time
// instead of memory. It is for payloads with a wrong size hint, and for large ones with an unusual compression ratio.
func (r *gzipReader) appendCounted(t *inflater, dst, src []byte, limit int) ([]byte, error) {
	if err := r.reset(t, src); err != nil {
		return dst, err
	}
	size, err := count(&r.gz, limit)
	t.produced(size)
	if err != nil {
		return dst, t.corruptGzip(err)
	}
	if dst, err = t.grow(dst, size); err != nil {
		return dst, err
	}
	if err := r.reset(t, src); err != nil {
		return dst, err
	}
	n, err := io.ReadFull(&r.gz, dst[:size])
	return dst[:n], t.corruptGzip(err)
}

// shortLayer is the size up to which a layer counts as work at once: the decompressor reads it faster.
const shortLayer = 4 << 20

func (r *gzipReader) reset(t *inflater, src []byte) (err error) {
	if len(src) <= shortLayer {
		if err := t.advance(len(src)); err != nil {
			return err
		}
		r.short.Reset(src)
		err = r.gz.Reset(&r.short)
	} else {
		r.src = source{rest: src, inflater: t}
		err = r.gz.Reset(&r.src)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t.corruptGzip(err)
}

// corruptGzip is [inflater.corrupt] for an error of the gzip reader. io.EOF becomes nil.
func (t *inflater) corruptGzip(err error) error {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return t.corrupt("gzip", err)
}

// count reads all of r and returns its size, or ErrTooLarge as soon as that is above limit. With an error, size is what it has
// read, at most limit.
func count(r io.Reader, limit int) (size int, err error) {
	n, err := io.Copy(io.Discard, io.LimitReader(r, min(int64(limit), math.MaxInt64-1)+1))
	if n > int64(limit) {
		return limit, tooLarge(limit)
	}
	return int(n), err
}

// readFull is [io.ReadFull], but the error is io.EOF whenever r ends before space is full.
func readFull(r io.Reader, space []byte) (n int, err error) {
	for n < len(space) && err == nil {
		var got int
		got, err = r.Read(space[n:])
		n += got
	}
	return n, err
}
