// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// defaultGzipLevel is that of gzip itself.
const defaultGzipLevel = 6

// gzipWriterBytes is about what a writer takes.
const gzipWriterBytes = 1200 << 10

// gzipWriters holds writers by level.
var gzipWriters [gzip.BestCompression + 1]scratch.Keeper[gzipWriter]

// gzipWriter compresses to out.
type gzipWriter struct {
	out     []byte
	reserve func(bytes int64) error
	zip     *gzip.Writer
}

// AppendGzip appends the gzip form of pprof to dst. level is 1 (fastest) to 9 (smallest), 0 means the default, 6.
// Writers are pooled. Safe for concurrent use.
func AppendGzip(dst, pprof []byte, level int) ([]byte, error) {
	return AppendGzipReserving(dst, pprof, level, nil)
}

// AppendGzipReserving is [AppendGzip] that asks reserve before it takes memory, with all bytes that it then has taken, dst
// among them. An error of reserve ends the work, and is part of the error returned.
func AppendGzipReserving(dst, pprof []byte, level int, reserve func(bytes int64) error) ([]byte, error) {
	if level == 0 {
		level = defaultGzipLevel
	}
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		return dst, fmt.Errorf("compression level %d is not between %d and %d", level, gzip.BestSpeed, gzip.BestCompression)
	}
	w := gzipWriters[level].Get()
	if w == nil {
		w = &gzipWriter{}
		w.zip, _ = gzip.NewWriterLevel(w, level) // the level was checked
	}
	w.out, w.reserve = dst, reserve
	err := w.ask(cap(dst))
	if err == nil {
		w.zip.Reset(w)
		_, err = w.zip.Write(pprof)
		if closeErr := w.zip.Close(); err == nil {
			err = closeErr
		}
	}
	dst = w.out
	w.out, w.reserve = nil, nil
	gzipWriters[level].Put(w, gzipWriterBytes)
	if err != nil {
		return dst, fmt.Errorf("cannot compress a pprof: %w", err)
	}
	return dst, nil
}

// ask asks for the memory of the writer and so many bytes of output.
func (w *gzipWriter) ask(bytes int) error {
	if w.reserve == nil {
		return nil
	}
	return w.reserve(gzipWriterBytes + int64(bytes))
}

// Write takes a piece of the compressed form.
func (w *gzipWriter) Write(piece []byte) (int, error) {
	if free := cap(w.out) - len(w.out); free < len(piece) {
		size := max(2*cap(w.out), len(w.out)+len(piece), smallestGzip)
		if err := w.ask(cap(w.out) + size); err != nil {
			return 0, err
		}
		grown := make([]byte, len(w.out), size)
		copy(grown, w.out)
		w.out = grown
	}
	w.out = append(w.out, piece...)
	return len(piece), nil
}

// smallestGzip is the least capacity of the output.
const smallestGzip = 4 << 10
