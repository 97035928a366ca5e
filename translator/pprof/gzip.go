// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// defaultGzipLevel is the default level of gzip.
const defaultGzipLevel = 6

// gzipWriterBytes is the approximate memory of a writer.
const gzipWriterBytes = 1200 << 10

// gzipWriters has writers by level.
var gzipWriters [gzip.BestCompression + 1]scratch.Keeper[gzipWriter]

// gzipWriter compresses to out.
type gzipWriter struct {
	out  []byte
	work *meter.Meter
	zip  *gzip.Writer
}

// AppendGzip appends pprof in gzip to dst. level is 1 (fastest) to 9 (smallest); 0 means the default, 6. It is safe for
// concurrent use, and pools its writers.
func AppendGzip(dst, pprof []byte, level int) ([]byte, error) {
	return AppendGzipMetered(dst, pprof, level, nil)
}

// AppendGzipMetered is like [AppendGzip], and counts its memory, dst included, before it allocates it. An error of work ends it.
func AppendGzipMetered(dst, pprof []byte, level int, work *meter.Meter) ([]byte, error) {
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
	w.out, w.work = dst, work
	err := work.Need(gzipWriterBytes + int64(cap(dst)))
	if err == nil {
		w.zip.Reset(w)
		_, err = w.zip.Write(pprof)
		if closeErr := w.zip.Close(); err == nil {
			err = closeErr
		}
	}
	dst = w.out
	w.out, w.work = nil, nil
	gzipWriters[level].Put(w, gzipWriterBytes)
	if err != nil {
		return dst, fmt.Errorf("cannot compress a pprof: %w", err)
	}
	return dst, nil
}

// Write appends compressed bytes to the output.
func (w *gzipWriter) Write(piece []byte) (int, error) {
	if free := cap(w.out) - len(w.out); free < len(piece) {
		size := max(2*cap(w.out), len(w.out)+len(piece), smallestGzip)
		if err := w.work.Need(gzipWriterBytes + int64(cap(w.out)+size)); err != nil {
			return 0, err
		}
		grown := make([]byte, len(w.out), size)
		copy(grown, w.out)
		w.out = grown
	}
	w.out = append(w.out, piece...)
	return len(piece), nil
}

// smallestGzip is the smallest capacity of the output.
const smallestGzip = 4 << 10
