// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// beginningBytes is the memory that content gets with its first byte. Most profiles are not longer.
const beginningBytes = 64 << 10

// beginnings are used again.
var beginnings scratch.Keeper[[beginningBytes]byte]

// memory is what one request, or one fetch, takes of the memory budget. All numbers are bytes.
type memory struct {
	// reservation is nil before the receiver is started; then there is no bound.
	reservation *budget.Reservation
	// kept is for what stays while the work goes on: the body, labels, translated payloads.
	kept int64
	// beginnings are in use.
	beginnings []*[beginningBytes]byte
}

// newMemory returns the memory of a request that holds nothing yet. It must be released.
func (in *intake) newMemory(ctx context.Context) *memory {
	m := &memory{}
	if in.budget != nil {
		m.reservation, _ = in.budget.Reserve(ctx, 0) // Nothing cannot be refused.
	}
	return m
}

// grow reserves bytes above those that are kept. It comes before they are taken.
func (m *memory) grow(ctx context.Context, bytes int64) error {
	return m.reserve(ctx, m.kept+bytes)
}

// keep reserves bytes for what stays.
func (m *memory) keep(ctx context.Context, bytes int64) error {
	err := m.grow(ctx, bytes)
	if err == nil {
		m.kept += bytes
	}
	return err
}

// settle makes bytes all that is reserved and kept. What was read must not be used any more.
func (m *memory) settle(ctx context.Context, bytes int64) error {
	m.forget()
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

func (m *memory) reserve(ctx context.Context, bytes int64) error {
	err := m.reservation.Grow(ctx, bytes)
	if err == nil || isAny(err, budget.ErrTooLarge, budget.ErrExhausted) {
		return err
	}
	return gaveUp(ctx)
}

// release gives all back.
func (m *memory) release() {
	m.forget()
	m.reservation.Release()
}

// forget lets others have the memory of what was read.
func (m *memory) forget() {
	for _, beginning := range m.beginnings {
		beginnings.Put(beginning, beginningBytes)
	}
	m.beginnings = nil
}

// read reads to the end, into memory that grows with what has come: what is announced, if it is above 0, only keeps it
// from growing further. The result is kept, until the memory is settled or released. Of nothing, the error is io.EOF.
func (m *memory) read(ctx context.Context, r io.Reader, announced int64) ([]byte, error) {
	var first [1]byte // Until it comes, there is no other memory.
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, err
	}
	if err := m.keep(ctx, beginningBytes); err != nil {
		return nil, err
	}
	beginning := beginnings.Get()
	if beginning == nil {
		beginning = new([beginningBytes]byte)
	}
	m.beginnings = append(m.beginnings, beginning)
	beginning[0] = first[0]
	content := beginning[:1]
	for {
		n, err := r.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case errors.Is(err, io.EOF):
			return content, nil
		case err == nil && len(content) == cap(content):
			content, err = m.double(ctx, content, announced)
		}
		if err != nil {
			return nil, err
		}
	}
}

// double gives content twice its room, or that for all that is announced.
func (m *memory) double(ctx context.Context, content []byte, announced int64) ([]byte, error) {
	room := 2 * int64(cap(content))
	if announced >= int64(len(content)) {
		room = min(room, announced+1) // One more, so that the end is seen without growing.
	}
	if err := m.grow(ctx, room); err != nil {
		return nil, err
	}
	moved := append(make([]byte, 0, room), content...)
	m.shrink(m.kept + room - int64(cap(content)))
	return moved, nil
}

// inflate takes the compression off a body that holds profiles within something else. The result is kept.
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
