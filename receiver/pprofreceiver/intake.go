// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// intake is shared by all sections of the receiver. It translates payloads, counts them, and passes them to the next
// consumer.
type intake struct {
	decoder *pprof.Decoder
	// recordings translates recordings of JDK Flight Recorder.
	recordings *jfr.Decoder
	skipped    skippedEvents
	limits     LimitsConfig
	next       xconsumer.Profiles
	metrics    *metadata.TelemetryBuilder
	// options are those of the translators.
	options pprof.DecodeOptions
	// generatedNames keeps the names of classes that a JVM generates in texts as they are.
	generatedNames bool
	// allMappings keeps mappings that no sample refers to.
	allMappings bool
	// resource has the configured attributes. It must not be modified.
	resource pcommon.Map
	version  string
	// budget has no limit until the receiver is started.
	budget *memory.Budget
	closed atomic.Bool
	clock  arrivalClock
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
		decoder:        pprof.NewDecoder(cfg.decodeOptions()),
		recordings:     jfr.NewDecoder(cfg.recordingOptions()),
		skipped:        skippedEvents{logger: set.Logger, logged: map[string]struct{}{}},
		options:        cfg.decodeOptions(),
		limits:         cfg.Limits,
		next:           resourcemetadata.Wrap(next, cfg.MetadataFromResource),
		metrics:        metrics,
		allMappings:    cfg.KeepUnreferencedMappings,
		generatedNames: cfg.KeepGeneratedNames,
		resource:       resource,
		version:        set.BuildInfo.Version,
		budget:         memory.New(math.MaxInt64>>1, 0),
	}, nil
}

// pprofFormat returns the format pprof. hint is appended to the error for older formats if they are not allowed.
func (in *intake) pprofFormat(legacyAllowed bool, hint string) payloadFormat {
	return pprofFormat{
		decoder:   in.decoder,
		legacy:    newLegacyFormats(legacyAllowed, hint, in.limits.InflatedBytes),
		recording: in.jfrFormat(nil, 0),
	}
}

// newSource returns a source with the configured resource attributes. The caller adds its own.
func (in *intake) newSource() pprof.Source {
	resource := pcommon.NewMap()
	in.resource.CopyTo(resource)
	return pprof.Source{Resource: resource, ScopeName: metadata.ScopeName, ScopeVersion: in.version}
}

// translate translates one payload and counts it. The error has a class, see [classify].
func (in *intake) translate(ctx context.Context, metrics *apiMetrics, p payload, m *requestMemory) (pprofile.Profiles, pprof.DecodeStats, error) {
	start := time.Now()
	m.Clear() // Another payload may have needed too much.
	p.source.Reserve = m.Reserve
	profiles, stats, err := p.format.Decode(p.content, p.source)
	metrics.translated(ctx, len(p.content), stats.InflatedBytes, time.Since(start))
	if err != nil {
		err = refuseForeign(stats.Begin, err)
	}
	return profiles, stats, err
}

// consume passes profiles to the next consumer.
func (in *intake) consume(ctx context.Context, profiles pprofile.Profiles) error {
	if in.closed.Load() {
		return refuse(classBusy, "the receiver is shutting down")
	}
	if err := in.next.ConsumeProfiles(ctx, profiles); err != nil {
		return consumerError(ctx, err)
	}
	return nil
}

// close makes consume refuse everything from now on.
func (in *intake) close() { in.closed.Store(true) }
