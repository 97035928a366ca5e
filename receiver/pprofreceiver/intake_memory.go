// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"io"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// workFactor is the memory that the translation of a large payload usually needs in all, as a multiple of its size on the wire.
const workFactor = 8

// requestMemory is the memory of one request or fetch: what it holds, and the meter of what it uses. All numbers are bytes.
type requestMemory struct {
	*meter.Meter
	arrival *memory.Arrival
	// base is in use until the answer: the header.
	base int64
	// leave gives back the place of the request among those that are processed. It can be nil.
	leave func()
}

// end releases all memory.
func (m *requestMemory) end() { m.arrival.Release() }

// read reads a body to its end, and keeps it. announced is its announced length, or -1. If it is empty, the error is io.EOF.
func (m *requestMemory) read(ctx context.Context, body io.Reader, announced int64) ([]byte, error) {
	content, err := m.arrival.Read(ctx, body, announced, workFactor)
	if err != nil {
		return nil, err
	}
	return content, m.Use(int64(cap(content)))
}

// inflate decompresses a body that contains profiles, and keeps the result.
func (m *requestMemory) inflate(body []byte, limit int) ([]byte, error) {
	plain, _, err := inflate.Open(new([]byte), body, limit, m.Meter)
	return plain, err
}

// keepOnly holds exactly this many bytes and the base, instead of everything before. Content that was read must not be used afterwards.
func (m *requestMemory) keepOnly(ctx context.Context, bytes int64) error {
	return m.arrival.Resize(ctx, m.base+bytes)
}
