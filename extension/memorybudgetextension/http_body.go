// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	// A body is read into pieces. Each piece is as large as all pieces before it together, within these limits.
	smallestPiece = 4 << 10
	largestPiece  = 1 << 20
)

// httpBody is the body of a request.
type httpBody struct {
	// arriving counts the capacity of all pieces.
	arriving *arrival
	pieces   [][]byte // while the body arrives
	size     int64    // length of all pieces
	plain    []byte   // when it has arrived
}

// receive reads the body of a request. The memory grows with the received bytes, not with the Content-Length, which may be
// wrong. The caller must join or release the body.
func (m *memoryBudget) receive(w http.ResponseWriter, r *http.Request) (body httpBody, err error) {
	control := http.NewResponseController(w)
	var evicted atomic.Bool
	arriving := m.arrivals.beginReserving(r.ContentLength, func() {
		evicted.Store(true)
		_ = control.SetReadDeadline(time.Unix(1, 0)) // A server that does not support this reads until the timeout.
	})
	defer arriving.end()
	body.arriving = arriving
	defer func() {
		if err != nil {
			body.release()
		}
	}()
	for {
		err := body.readPiece(r.Body)
		switch {
		case errors.Is(err, io.EOF):
			arriving.end()
			_ = control.SetReadDeadline(time.Time{}) // An eviction may have come in between.
			return body, nil
		case evicted.Load():
			return body, errEvicted
		case errors.Is(err, os.ErrDeadlineExceeded):
			return body, errTooSlow
		case err != nil:
			return body, err
		}
	}
}

// readPiece calls Read once, into the last piece or a new one. The error is io.EOF at the end.
func (b *httpBody) readPiece(r io.Reader) error {
	last := len(b.pieces) - 1
	if last < 0 || len(b.pieces[last]) == cap(b.pieces[last]) {
		size := min(max(b.size, smallestPiece), largestPiece)
		if limit := b.arriving.arrivals.limit; b.arriving.held+size > limit {
			return tooManyBytes(limit)
		}
		if err := b.arriving.reserve(size); err != nil {
			return err
		}
		b.pieces = append(b.pieces, make([]byte, 0, size))
		last++
	}
	piece := b.pieces[last]
	n, err := r.Read(piece[len(piece):cap(piece)])
	b.pieces[last] = piece[:len(piece)+n]
	b.size += int64(n)
	b.arriving.progress(n)
	return err
}

// join copies the pieces into plain and releases them. The caller must have reserved size bytes.
func (b *httpBody) join() {
	b.plain = make([]byte, 0, b.size)
	for _, piece := range b.pieces {
		b.plain = append(b.plain, piece...)
	}
	b.release()
}

// release frees the pieces, if there are any.
func (b *httpBody) release() {
	b.arriving.release()
	b.pieces = nil
}
