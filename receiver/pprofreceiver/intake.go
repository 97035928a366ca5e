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

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// intake is the part that all ways in share: it translates payloads, counts them and hands them on.
type intake struct {
	decoder *pprof.Decoder
	limits  LimitsConfig
	legacy  legacyParser
	next    xconsumer.Profiles
	metrics *metadata.TelemetryBuilder
	// allMappings says that mappings which no sample reaches are carried.
	allMappings bool
	resource    pcommon.Map // the attributes that every resource begins with, only read
	version     string
	// budget is what requests reserve memory of. It is nil until the receiver is started.
	budget *budget.Budget
	closed atomic.Bool
}

func newIntake(set receiver.Settings, cfg *Config, next xconsumer.Profiles) (*intake, error) {
	metrics, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	resource, err := cfg.resourceDefaults()
	if err != nil {
		return nil, err
	}
	return &intake{
		decoder:     pprof.NewDecoder(cfg.decodeOptions()),
		limits:      cfg.Limits,
		legacy:      newLegacyParser(cfg.Limits.InflatedBytes),
		next:        resourcemetadata.Wrap(next, cfg.MetadataFromResource),
		metrics:     metrics,
		allMappings: cfg.KeepUnreferencedMappings,
		resource:    resource,
		version:     set.BuildInfo.Version,
	}, nil
}

// newSource returns a source with the configured resource attributes, for the caller to add what it knows.
func (in *intake) newSource() pprof.Source {
	resource := pcommon.NewMap()
	in.resource.CopyTo(resource)
	return pprof.Source{Resource: resource, ScopeName: metadata.ScopeName, ScopeVersion: in.version}
}

// translate makes profiles of one payload. The error tells its class to [classify].
func (in *intake) translate(ctx context.Context, way *way, payload []byte, source pprof.Source, legacy legacyFormats, m *memory) (pprofile.Profiles, pprof.DecodeStats, error) {
	start := time.Now()
	source.Reserve = func(bytes int64) error { return m.grow(ctx, bytes) }
	profiles, stats, err := in.decoder.Decode(payload, source)
	if errors.Is(err, pprof.ErrNotPprof) {
		if legacy.allowed {
			profiles, stats, err = in.translateLegacy(ctx, payload, source, m)
		} else {
			err = refuse(classNotPprof, "%w: it looks like one of the older formats%s", err, legacy.hint)
		}
	}
	way.translated(ctx, len(payload), stats.InflatedBytes, time.Since(start))
	return profiles, stats, err
}

// translateLegacy takes the detour over google/pprof, which reads the older formats and writes profile.proto.
func (in *intake) translateLegacy(ctx context.Context, payload []byte, source pprof.Source, m *memory) (pprofile.Profiles, pprof.DecodeStats, error) {
	before := m.kept
	defer func() { m.kept = before }()
	modern, size, err := in.legacy.modernise(ctx, payload, m)
	if err != nil {
		return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: size}, err
	}
	profiles, stats, err := in.decoder.Decode(modern, source)
	stats.InflatedBytes = size
	return profiles, stats, err
}

// hand gives profiles to the next consumer.
func (in *intake) hand(ctx context.Context, profiles pprofile.Profiles) error {
	if in.closed.Load() {
		return refuse(classBusy, "the receiver is shutting down")
	}
	if err := in.next.ConsumeProfiles(ctx, profiles); err != nil {
		return consumerError(ctx, err)
	}
	return nil
}

// close ends the intake: what is still on its way is refused.
func (in *intake) close() { in.closed.Store(true) }
