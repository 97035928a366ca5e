// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// defaultGzipLevel is that of gzip itself.
const defaultGzipLevel = 6

// gzipWriters holds writers by level, each with the buffer that it writes to.
var gzipWriters [gzip.BestCompression + 1]sync.Pool

type gzipWriter struct {
	out bytes.Buffer
	zip *gzip.Writer
}

// AppendGzip appends the gzip form of pprof to dst. level is 1 (fastest) to 9 (smallest), 0 means the default, 6.
// Writers are pooled. Safe for concurrent use.
func AppendGzip(dst, pprof []byte, level int) ([]byte, error) {
	if level == 0 {
		level = defaultGzipLevel
	}
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		return dst, fmt.Errorf("compression level %d is not between %d and %d", level, gzip.BestSpeed, gzip.BestCompression)
	}
	w, _ := gzipWriters[level].Get().(*gzipWriter)
	if w == nil {
		w = &gzipWriter{}
		w.zip, _ = gzip.NewWriterLevel(&w.out, level) // the level was checked
	}
	w.out = *bytes.NewBuffer(dst)
	w.zip.Reset(&w.out)
	_, err := w.zip.Write(pprof)
	if closeErr := w.zip.Close(); err == nil {
		err = closeErr
	}
	dst = w.out.Bytes()
	w.out = bytes.Buffer{}
	gzipWriters[level].Put(w)
	if err != nil {
		return dst, fmt.Errorf("cannot compress a pprof: %w", err)
	}
	return dst, nil
}
