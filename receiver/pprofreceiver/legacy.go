// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// maxLegacyBytes bounds payloads in the older formats. Their parser builds objects of many times their size.
const maxLegacyBytes = 16 << 20

// legacyFactor is how many times the size of a payload in an older format its objects take.
const legacyFactor = 40

// legacyFormats says whether a way in takes the older formats, and else how to make it.
type legacyFormats struct {
	allowed bool
	hint    string
}

// legacyParser reads the text and binary formats that came before profile.proto, by google/pprof.
type legacyParser struct {
	limit int
}

func newLegacyParser(inflatedBytes int) legacyParser {
	return legacyParser{limit: min(inflatedBytes, maxLegacyBytes)}
}

// modernise returns payload as profile.proto, and its size without compression.
// The memory keeps what the result takes.
func (p legacyParser) modernise(ctx context.Context, payload []byte, m *memory) (modern []byte, size int, err error) {
	plain, err := inflate.AppendReserving(nil, payload, p.limit, func(bytes int) error { return m.grow(ctx, int64(bytes)) })
	if err != nil {
		return nil, 0, refuse(classify(err), "payload in an older format: %w", err)
	}
	if err := m.grow(ctx, legacyFactor*int64(len(plain))); err != nil {
		return nil, len(plain), err
	}
	parsed, err := parseLegacy(plain)
	if err != nil {
		return nil, len(plain), err
	}
	var out bytes.Buffer
	if err := parsed.WriteUncompressed(&out); err != nil {
		return nil, len(plain), refuse(classMalformed, "cannot write the payload as profile.proto: %w", err)
	}
	return out.Bytes(), len(plain), m.keep(ctx, int64(out.Cap()))
}

// parseLegacy runs parsers that were written for files of one's own: they may panic on those of others.
func parseLegacy(plain []byte) (parsed *profile.Profile, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			parsed, err = nil, refuse(classMalformed, "cannot parse the payload as an older format: %v", cause)
		}
	}()
	parsed, err = profile.ParseData(plain)
	if err != nil {
		return nil, refuse(classMalformed, "cannot parse the payload as an older format: %w", err)
	}
	return parsed, nil
}
