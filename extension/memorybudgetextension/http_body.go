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
	// The pieces that a body is read into: as large as all before, within these.
	smallestPiece = 4 << 10
	largestPiece  = 1 << 20
)

// httpBody is the body of a request: in pieces while it arrives, then in one.
type httpBody struct {
	arrivals *arrivals
	arriving *arrival
	pieces   [][]byte
	size     int64 // of what is in pieces
	held     int64 // taken from arrivals
	plain    []byte
}

// receive reads the body of a request. It holds what has arrived, and little more. The caller must join or drop it.
func (m *memoryBudget) receive(w http.ResponseWriter, r *http.Request) (body httpBody, err error) {
	body.arrivals = m.arrivals
	defer func() {
		if err != nil {
			body.drop()
		}
	}()
	control := http.NewResponseController(w)
	var evicted atomic.Bool
	arriving := m.arrivals.begin(func() {
		evicted.Store(true)
		_ = control.SetReadDeadline(time.Unix(1, 0)) // Servers without it read on until the timeout.
	})
	defer arriving.end()
	body.arriving = arriving
	_ = control.SetReadDeadline(time.Now().Add(m.config.ReceiveTimeout))
	for {
		err := body.readPiece(r.Body)
		switch {
		case errors.Is(err, io.EOF):
			arriving.end()
			_ = control.SetReadDeadline(time.Time{}) // The server sets its own for the next request.
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

// readPiece fills the last piece, or a new one, as far as there is something. The error is io.EOF at the end.
func (b *httpBody) readPiece(r io.Reader) error {
	last := len(b.pieces) - 1
	if last < 0 || len(b.pieces[last]) == cap(b.pieces[last]) {
		size := min(max(b.size, smallestPiece), largestPiece)
		if b.held+size > b.arrivals.limit {
			return tooManyBytes(b.arrivals.limit)
		}
		b.held += size
		b.arrivals.add(b.arriving, size)
		b.pieces = append(b.pieces, make([]byte, 0, size))
		last++
	}
	piece := b.pieces[last]
	n, err := r.Read(piece[len(piece):cap(piece)])
	b.pieces[last] = piece[:len(piece)+n]
	b.size += int64(n)
	return err
}

// join puts the pieces together. The memory for it must be reserved.
func (b *httpBody) join() {
	b.plain = make([]byte, 0, b.size)
	for _, piece := range b.pieces {
		b.plain = append(b.plain, piece...)
	}
	b.drop()
}

// drop gives the pieces back, if there are any.
func (b *httpBody) drop() {
	b.arrivals.change(-b.held)
	b.pieces, b.held = nil, 0
}
