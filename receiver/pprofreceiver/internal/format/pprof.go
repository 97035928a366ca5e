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

// Pprof returns the format profile.proto and, if allowed, those before it, which are converted to profile.proto. It passes recordings on to
// their own format. hint is appended to the error for older formats if they are not allowed.
func (f *Formats) Pprof(legacyAllowed bool, hint string) Format {
	recording := f.JFR(nil, 0)
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := f.decoder.Decode(payload, source)
		switch {
		case errors.Is(err, pprof.ErrRecording):
			return recording(payload, source)
		case !errors.Is(err, pprof.ErrNotPprof):
			return profiles, stats, err
		case !legacyAllowed:
			return profiles, stats, refusal.New(refusal.NotPprof, "%w: it looks like one of the older formats%s", err, hint)
		}
		work := meter.New(0, source.Reserve)
		converted, size, err := convertLegacy(payload, min(f.limit, maxLegacyBytes), work)
		size = max(size, stats.InflatedBytes) // The limit of older formats is smaller, but the payload was decompressed before.
		if err != nil {
			return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: size, Begin: stats.Begin}, err
		}
		source.Reserve = work.Reserve
		profiles, stats, err = f.decoder.Decode(converted, source)
		stats.InflatedBytes = size
		return profiles, stats, err
	}
}
