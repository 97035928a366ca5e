// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package deflate compresses with gzip, within a memory budget.
package deflate // import "github.com/otelpprof/otelpprof/internal/wire/deflate"

import (
	"fmt"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// defaultLevel is the default level of gzip.
const defaultLevel = 6

// writerBytes is the approximate memory of a writer.
const writerBytes = 1200 << 10

// writers has writers by level.
var writers [gzip.BestCompression + 1]scratch.Keeper[writer]

// writer compresses to out.
type writer struct {
	out  []byte
	work *meter.Meter
	zip  *gzip.Writer
}

// Append appends src in gzip to dst. level is 1 (fastest) to 9 (smallest); 0 means the default, 6. work counts the memory, dst included,
// before it is allocated. An error of work ends it. Append is safe for concurrent use, and pools its writers.
func Append(dst, src []byte, level int, work *meter.Meter) ([]byte, error) {
	if level == 0 {
		level = defaultLevel
	}
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		return dst, fmt.Errorf("compression level %d is not between %d and %d", level, gzip.BestSpeed, gzip.BestCompression)
	}
	w := writers[level].Get()
	if w == nil {
		w = &writer{}
		w.zip, _ = gzip.NewWriterLevel(w, level) // the level was checked
	}
	w.out, w.work = dst, work
	err := work.Need(writerBytes + int64(cap(dst)))
	if err == nil {
		w.zip.Reset(w)
		_, err = w.zip.Write(src)
		if closeErr := w.zip.Close(); err == nil {
			err = closeErr
		}
	}
	dst = w.out
	w.out, w.work = nil, nil
	writers[level].Put(w, writerBytes)
	if err != nil {
		return dst, fmt.Errorf("cannot compress a pprof: %w", err)
	}
	return dst, nil
}

// Write appends compressed bytes to the output.
func (w *writer) Write(piece []byte) (int, error) {
	if free := cap(w.out) - len(w.out); free < len(piece) {
		size := max(2*cap(w.out), len(w.out)+len(piece), smallest)
		if err := w.work.Need(writerBytes + int64(cap(w.out)+size)); err != nil {
			return 0, err
		}
		grown := make([]byte, len(w.out), size)
		copy(grown, w.out)
		w.out = grown
	}
	w.out = append(w.out, piece...)
	return len(piece), nil
}

// smallest is the smallest capacity of the output.
const smallest = 4 << 10
