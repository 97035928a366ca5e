// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// intake is the part that all ways in share: it translates payloads, counts them and hands them on.
type intake struct {
	decoder   *pprof.Decoder
	legacy    legacyParser
	next      xconsumer.Profiles
	telemetry *telemetry
	resource  pcommon.Map // the attributes that every resource begins with, only read
	version   string
	closed    atomic.Bool
}

func newIntake(set receiver.Settings, cfg *Config, next xconsumer.Profiles) (*intake, error) {
	metrics, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	resource, err := cfg.resourceDefaults()
	if err != nil {
		return nil, err
	}
	return &intake{
		decoder:   pprof.NewDecoder(cfg.decodeOptions()),
		legacy:    newLegacyParser(cfg.Limits.InflatedBytes),
		next:      next,
		telemetry: metrics,
		resource:  resource,
		version:   set.BuildInfo.Version,
	}, nil
}

// newSource returns a source with the configured resource attributes, for the caller to add what it knows.
func (in *intake) newSource() pprof.Source {
	resource := pcommon.NewMap()
	in.resource.CopyTo(resource)
	return pprof.Source{Resource: resource, ScopeName: metadata.ScopeName, ScopeVersion: in.version}
}

// take translates one payload and hands it to the next consumer. It returns the number of samples made. payload is only
// read, and not after the return.
//
// The error tells its class to [classify].
func (in *intake) take(ctx context.Context, payload []byte, source pprof.Source, allowLegacy bool) (samples int, err error) {
	profiles, stats, err := in.translate(ctx, payload, source, allowLegacy)
	if err != nil {
		return 0, err
	}
	if in.closed.Load() {
		return stats.OTLPSamples, refuse(classBusy, "the receiver is shutting down")
	}
	if err := in.next.ConsumeProfiles(ctx, profiles); err != nil {
		return stats.OTLPSamples, consumerError(ctx, err)
	}
	in.telemetry.accepted(ctx, &stats)
	return stats.OTLPSamples, nil
}

func (in *intake) translate(ctx context.Context, payload []byte, source pprof.Source, allowLegacy bool) (pprofile.Profiles, pprof.DecodeStats, error) {
	start := time.Now()
	profiles, stats, err := in.decoder.Decode(payload, source)
	if errors.Is(err, pprof.ErrNotPprof) {
		if allowLegacy {
			profiles, stats, err = in.translateLegacy(payload, source)
		} else {
			err = refuse(classNotPprof, "%w: it looks like one of the older formats, which server.legacy_formats: true allows", err)
		}
	}
	in.telemetry.translated(ctx, len(payload), stats.InflatedBytes, time.Since(start))
	return profiles, stats, err
}

// translateLegacy takes the detour over google/pprof, which reads the older formats and writes profile.proto.
func (in *intake) translateLegacy(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	modern, size, err := in.legacy.modernise(payload)
	if err != nil {
		return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: size}, err
	}
	profiles, stats, err := in.decoder.Decode(modern, source)
	stats.InflatedBytes = size
	return profiles, stats, err
}

// close ends the intake: what is still on its way is refused.
func (in *intake) close() { in.closed.Store(true) }
