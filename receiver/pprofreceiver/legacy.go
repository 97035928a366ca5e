// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// maxLegacyBytes bounds payloads in the older formats. Their parser builds objects of many times their size.
const maxLegacyBytes = 16 << 20

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
func (p legacyParser) modernise(payload []byte) (modern []byte, size int, err error) {
	plain, err := inflate.Append(nil, payload, p.limit)
	if err != nil {
		return nil, 0, refuse(classify(err), "payload in an older format: %w", err)
	}
	parsed, err := parseLegacy(plain)
	if err != nil {
		return nil, len(plain), err
	}
	var out bytes.Buffer
	if err := parsed.WriteUncompressed(&out); err != nil {
		return nil, len(plain), refuse(classMalformed, "cannot write the payload as profile.proto: %w", err)
	}
	return out.Bytes(), len(plain), nil
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
