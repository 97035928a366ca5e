// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// pprofFormat is profile.proto and, if allowed, the older formats. It passes recordings on to their own format.
type pprofFormat struct {
	decoder   *pprof.Decoder
	legacy    legacyFormats
	recording Format
}

// Pprof returns the format pprof. hint is appended to the error for older formats if they are not allowed.
func (f *Formats) Pprof(legacyAllowed bool, hint string) Format {
	return pprofFormat{decoder: f.decoder, legacy: newLegacyFormats(legacyAllowed, hint, f.limit), recording: f.JFR(nil, 0)}
}

// Decode translates a pprof. A payload in an older format is converted to profile.proto first.
func (f pprofFormat) Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	profiles, stats, err := f.decoder.Decode(payload, source)
	if errors.Is(err, pprof.ErrRecording) {
		return f.recording.Decode(payload, source)
	}
	if !errors.Is(err, pprof.ErrNotPprof) {
		return profiles, stats, err
	}
	if !f.legacy.allowed {
		return profiles, stats, refusal.New(refusal.NotPprof, "%w: it looks like one of the older formats%s", err, f.legacy.hint)
	}
	work := meter.New(0, source.Reserve)
	converted, size, err := f.legacy.convert(payload, work)
	size = max(size, stats.InflatedBytes) // The limit of older formats is smaller, but the payload was decompressed before.
	if err != nil {
		return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: size, Begin: stats.Begin}, err
	}
	source.Reserve = work.Reserve
	profiles, stats, err = f.decoder.Decode(converted, source)
	stats.InflatedBytes = size
	return profiles, stats, err
}
