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
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/format"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// intake is shared by all sections of the receiver. It translates payloads, counts them, and passes them to the next
// consumer.
type intake struct {
	formats *format.Formats
	limits  LimitsConfig
	next    xconsumer.Profiles
	metrics *metadata.TelemetryBuilder
	// allMappings keeps mappings that no sample refers to.
	allMappings bool
	// resource has the configured attributes. It must not be modified.
	resource pcommon.Map
	version  string
	// It has no limit until the receiver is started.
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
		formats:     format.New(cfg.decodeOptions(), cfg.KeepGeneratedNames, set.Logger),
		limits:      cfg.Limits,
		next:        resourcemetadata.Wrap(next, cfg.MetadataFromResource),
		metrics:     metrics,
		allMappings: cfg.KeepUnreferencedMappings,
		resource:    resource,
		version:     set.BuildInfo.Version,
		budget:      memory.New(math.MaxInt64>>1, 0),
	}, nil
}

// begin begins a request or fetch that uses base bytes until its end. abort makes reading its body fail. The caller must call end.
func (in *intake) begin(ctx context.Context, base int64, abort func()) (*requestMemory, error) {
	arrival, err := in.budget.Arrive(ctx, base, abort)
	if err != nil {
		return nil, err
	}
	return &requestMemory{Meter: arrival.Meter(ctx, base), arrival: arrival, base: base}, nil
}

// newSource returns a source with the configured resource attributes. The caller adds its own.
func (in *intake) newSource() pprof.Source {
	resource := pcommon.NewMap()
	in.resource.CopyTo(resource)
	return pprof.Source{Resource: resource, ScopeName: metadata.ScopeName, ScopeVersion: in.version}
}

// payload is one payload of a request or fetch, with its description.
type payload struct {
	format  format.Format
	content []byte
	source  pprof.Source
	// times applies if the payload has no times.
	times times
}

// translate translates one payload and counts it. The error has a class, see [refusal.Of].
func (in *intake) translate(ctx context.Context, metrics *apiMetrics, p payload, m *requestMemory) (pprofile.Profiles, pprof.DecodeStats, error) {
	start := time.Now()
	m.Clear() // Another payload may have needed too much.
	p.source.Reserve = m.Reserve
	profiles, stats, err := p.format(p.content, p.source)
	metrics.translated(ctx, len(p.content), stats.InflatedBytes, time.Since(start))
	if err != nil {
		err = format.RefuseForeign(stats.Begin, err)
	}
	return profiles, stats, err
}

// consume passes profiles to the next consumer.
func (in *intake) consume(ctx context.Context, profiles pprofile.Profiles) error {
	if in.closed.Load() {
		return refusal.New(refusal.Busy, "the receiver is shutting down")
	}
	if err := in.next.ConsumeProfiles(ctx, profiles); err != nil {
		return consumerError(ctx, err)
	}
	return nil
}

// close makes consume refuse everything from now on.
func (in *intake) close() { in.closed.Store(true) }
