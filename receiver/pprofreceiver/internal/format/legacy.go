// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// maxLegacyBytes limits payloads in the older formats. Their parser allocates objects of many times their size.
const maxLegacyBytes = 16 << 20

// legacyFactor is the memory of these objects, as a multiple of the size of the payload.
const legacyFactor = 40

// convertLegacy returns a payload in one of the text and binary formats that are older than profile.proto as profile.proto, and its decompressed size, which is the size up to the error if decompression fails.
// The memory of the result stays in use.
func convertLegacy(payload []byte, limit int, work *meter.Meter) (converted []byte, size int, err error) {
	plain, size, err := inflate.AppendMetered(nil, payload, limit, work)
	if err != nil {
		return nil, size, refusal.New(refusal.Of(err), "payload in an older format: %w", err)
	}
	if err := checkMaps(plain); err != nil {
		return nil, size, err
	}
	if err := work.Need(legacyFactor * int64(len(plain))); err != nil {
		return nil, size, err
	}
	parsed, err := parseLegacy(plain)
	if err != nil {
		return nil, size, err
	}
	var out bytes.Buffer
	if err := parsed.WriteUncompressed(&out); err != nil {
		return nil, size, refusal.New(refusal.Malformed, "cannot write the payload as profile.proto: %w", err)
	}
	return out.Bytes(), size, work.Use(int64(out.Cap()))
}

// parseLegacy recovers from panics: the parsers of google/pprof are made for trusted files.
func parseLegacy(plain []byte) (parsed *profile.Profile, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			parsed, err = nil, refusal.New(refusal.Malformed, "cannot parse the payload as an older format: %v", cause)
		}
	}()
	parsed, err = profile.ParseData(plain)
	if err != nil {
		return nil, refusal.New(refusal.Malformed, "cannot parse the payload as an older format: %w", err)
	}
	return parsed, nil
}
