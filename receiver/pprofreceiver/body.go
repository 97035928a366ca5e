// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

const (
	// trustedLength is how much room a body is given because its Content-Length says so. More comes as bytes come.
	trustedLength = 1 << 20
	// leastRoom is the room that a body of unknown length begins with.
	leastRoom = 16 << 10
	// maxPooledBody is the largest buffer that is kept for another request.
	maxPooledBody = 4 << 20
)

// bodies are the buffers of request bodies.
type bodies struct {
	pool sync.Pool
}

// read reads the rest of r's body, behind its first byte. The result is valid until it is given back with put.
//
// Memory grows with what has arrived, not with what was announced.
func (b *bodies) read(r *http.Request, first byte) (*[]byte, error) {
	buffer, ok := b.pool.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	body := slices.Grow((*buffer)[:0], firstRoom(r.ContentLength))
	body = append(body, first)
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		*buffer = body
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			b.put(buffer)
			return nil, bodyError(err)
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
}

// put gives a buffer back. It must not be used any more.
func (b *bodies) put(buffer *[]byte) {
	if cap(*buffer) <= maxPooledBody {
		b.pool.Put(buffer)
	}
}

// firstRoom is one more than a body of the announced length, so that its end is seen without growing.
func firstRoom(announced int64) int {
	if announced < 0 {
		return leastRoom
	}
	return int(min(announced, trustedLength)) + 1
}

// firstByte waits until the body begins. Until then a request costs a connection and nothing else.
func firstByte(r *http.Request) (byte, error) {
	var first [1]byte
	for {
		n, err := r.Body.Read(first[:])
		switch {
		case n == 1:
			return first[0], nil
		case errors.Is(err, io.EOF):
			return 0, refuse(classMalformed, "the body is empty")
		case err != nil:
			return 0, bodyError(err)
		}
	}
}
