// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// firstBufferBytes is the size of the first buffer for content. Most profiles fit.
const firstBufferBytes = 64 << 10

// firstBuffers is the pool of these buffers.
var firstBuffers scratch.Keeper[[firstBufferBytes]byte]

// memory reserves the memory of one request or fetch in the memory budget. All numbers are bytes.
type memory struct {
	// reservation is nil before the receiver is started. Then there is no limit.
	reservation *budget.Reservation
	// kept is the reserved memory that is in use until the end: the body, labels, translated payloads.
	kept int64
	// base is the part of kept that stays in use until the answer, whatever replace replaces: the header.
	base int64
	// buffers are in use. They will be returned to firstBuffers.
	buffers []*[firstBufferBytes]byte
}

// newMemory returns the memory of a new request. The caller must call release.
func (in *intake) newMemory(ctx context.Context) *memory {
	m := &memory{}
	if in.budget != nil {
		m.reservation, _ = in.budget.Reserve(ctx, 0) // A reservation of 0 bytes never fails.
	}
	return m
}

// grow reserves bytes in addition to those that are kept. It must be called before they are allocated.
func (m *memory) grow(ctx context.Context, bytes int64) error {
	return m.reserve(ctx, m.kept+bytes)
}

// keep reserves bytes until release or replace.
func (m *memory) keep(ctx context.Context, bytes int64) error {
	err := m.grow(ctx, bytes)
	if err == nil {
		m.kept += bytes
	}
	return err
}

// keepBase reserves bytes until release. The next consumers leave them to the request.
func (m *memory) keepBase(ctx context.Context, bytes int64) error {
	err := m.keep(ctx, bytes)
	if err == nil {
		m.base += bytes
		m.reservation.Keep(m.base)
	}
	return err
}

// replace keeps exactly this many bytes, and the base, instead of everything before. Content that was read must not be used
// afterwards.
func (m *memory) replace(ctx context.Context, bytes int64) error {
	m.recycle()
	bytes += m.base
	err := m.reserve(ctx, bytes)
	if err == nil {
		m.shrink(bytes)
	}
	return err
}

func (m *memory) shrink(bytes int64) {
	m.kept = bytes
	m.reservation.Shrink(bytes)
}

// reserve fails if ctx has ended, also if the memory is reserved already: translators call it while they work.
func (m *memory) reserve(ctx context.Context, bytes int64) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	err := m.reservation.Grow(ctx, bytes)
	if err == nil || isAny(err, budget.ErrTooLarge, budget.ErrExhausted) {
		return err
	}
	return canceled(ctx)
}

// release releases all memory.
func (m *memory) release() {
	m.recycle()
	m.reservation.Release()
}

// recycle returns the buffers to the pool.
func (m *memory) recycle() { m.recycleFrom(0) }

func (m *memory) recycleFrom(first int) {
	for _, buffer := range m.buffers[first:] {
		firstBuffers.Put(buffer, firstBufferBytes)
	}
	m.buffers = slices.Delete(m.buffers, first, len(m.buffers))
}

// read reads r to its end. The memory grows with the content. announced is the announced length of r; if it is above 0,
// it only limits the growth. The result is valid until replace or release. If r is empty, the error is io.EOF.
func (m *memory) read(ctx context.Context, r io.Reader, announced int64) ([]byte, error) {
	var first [1]byte // Until it has arrived, no other memory is allocated.
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, err
	}
	if err := m.keep(ctx, firstBufferBytes); err != nil {
		return nil, err
	}
	buffer := firstBuffers.Get()
	if buffer == nil {
		buffer = new([firstBufferBytes]byte)
	}
	before := len(m.buffers)
	m.buffers = append(m.buffers, buffer)
	buffer[0] = first[0]
	content := buffer[:1]
	for {
		n, err := r.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case errors.Is(err, io.EOF):
			return content, nil
		case err == nil && len(content) == cap(content):
			content, err = m.double(ctx, content, announced)
			if err == nil {
				m.recycleFrom(before) // The content has moved, and the buffer is no longer reserved.
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// double copies content to a buffer with twice its capacity, or with the announced length if that is less.
func (m *memory) double(ctx context.Context, content []byte, announced int64) ([]byte, error) {
	capacity := 2 * int64(cap(content))
	// Any length can be announced. So it is compared before anything is added to it.
	if announced >= int64(len(content)) && announced < capacity {
		capacity = announced + 1 // One more byte, so that the end is found without growing.
	}
	if err := m.grow(ctx, capacity); err != nil {
		return nil, err
	}
	moved := append(make([]byte, 0, capacity), content...)
	m.shrink(m.kept + capacity - int64(cap(content))) // The caller no longer uses the old buffer.
	return moved, nil
}

// inflate decompresses a body that contains profiles. The memory of the result is kept.
func (m *memory) inflate(ctx context.Context, body []byte, limit int) ([]byte, error) {
	if inflate.Plain(body) {
		return body, nil
	}
	plain, err := inflate.AppendReserving(nil, body, limit, func(bytes int) error { return m.grow(ctx, int64(bytes)) })
	if err != nil {
		return nil, err
	}
	return plain, m.keep(ctx, int64(cap(plain)))
}
