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
	// beginningBytes is what is read of a body before it needs a place. Most profiles are not longer.
	beginningBytes = 64 << 10
	// trustedLength is how much room a body is given because its Content-Length says so. More comes as bytes come.
	trustedLength = 1 << 20
	// maxPooledBody is the largest buffer that is kept for another request.
	maxPooledBody = 4 << 20
)

// bodies reads the bodies of requests into buffers that are used again. Memory grows with what has arrived, not with
// what was announced.
type bodies struct {
	beginnings sync.Pool // of *[beginningBytes]byte
	wholes     sync.Pool // of *[]byte
}

// body is a body being read.
type body struct {
	bytes []byte
	whole bool

	// beginning and buffer are where bytes may lie.
	beginning *[beginningBytes]byte
	buffer    *[]byte
}

// begin reads until the body ends or its beginning is full. Until the first byte comes, a request costs a connection and
// nothing else. The body must be given back with put.
func (b *bodies) begin(r *http.Request) (*body, error) {
	first, err := firstByte(r)
	if err != nil {
		return nil, err
	}
	beginning, ok := b.beginnings.Get().(*[beginningBytes]byte)
	if !ok {
		beginning = new([beginningBytes]byte)
	}
	started := &body{beginning: beginning, bytes: beginning[:1]}
	started.bytes[0] = first
	if err := started.fill(r); err != nil {
		b.put(started)
		return nil, err
	}
	return started, nil
}

// finish reads what begin has left.
func (b *bodies) finish(r *http.Request, started *body) error {
	if started.whole {
		return nil
	}
	buffer, ok := b.wholes.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	// One more than announced, so that the end is seen without growing.
	room := max(int(min(r.ContentLength, trustedLength))+1, 2*beginningBytes)
	started.buffer = buffer
	started.bytes = append(slices.Grow((*buffer)[:0], room), started.bytes...)
	for {
		err := started.fill(r)
		*buffer = started.bytes
		if err != nil || started.whole {
			return err
		}
		more := len(started.bytes)
		if left := r.ContentLength + 1 - int64(more); left > 0 {
			more = int(min(left, int64(more))) // No more than is to come: many large bodies may be waiting.
		}
		started.bytes = append(make([]byte, 0, len(started.bytes)+more), started.bytes...)
	}
}

// put gives the buffers of a body back. Its bytes must not be used any more.
func (b *bodies) put(used *body) {
	b.beginnings.Put(used.beginning)
	if used.buffer != nil && cap(*used.buffer) <= maxPooledBody {
		b.wholes.Put(used.buffer)
	}
}

// fill reads until the room behind bytes is full or the body ends.
func (b *body) fill(r *http.Request) error {
	for len(b.bytes) < cap(b.bytes) {
		n, err := r.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			b.whole = true
			return nil
		}
		if err != nil {
			return bodyError(err)
		}
	}
	return nil
}

// firstByte waits until the body begins.
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
