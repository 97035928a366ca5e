// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/joinederrors"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// intake is what all sections of the receiver share. Each request or fetch has a [batch].
type intake struct {
	formats *formats
	limits  LimitsConfig
	next    xconsumer.Profiles
	metrics *metadata.TelemetryBuilder
	// kept has the tables whose unused entries are kept.
	kept []dictionary.Table
	// resource has the configured attributes. It must not be modified.
	resource pcommon.Map
	version  string
	// It has no limit until the receiver is started.
	budget *memory.Budget
	// closed makes batches deliver nothing.
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
	var kept []dictionary.Table
	if cfg.KeepUnreferencedMappings {
		kept = append(kept, dictionary.Mappings)
	}
	return &intake{
		formats:  newFormats(cfg.decodeOptions(), cfg.KeepGeneratedNames, set.Logger),
		limits:   cfg.Limits,
		next:     resourcemetadata.Wrap(next, cfg.MetadataFromResource),
		metrics:  metrics,
		kept:     kept,
		resource: resource,
		version:  set.BuildInfo.Version,
		budget:   memory.New(math.MaxInt64>>1, 0),
	}, nil
}

// begin begins a request or fetch that uses base bytes until its end. abort makes reading its body fail. The caller must release its arrival.
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
	format  payloadFormat
	content []byte
	source  pprof.Source
	// times applies if the payload has no times.
	times times
}

// consumerError returns the error, with its class, for an error of the next consumer.
func consumerError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return canceled(err)
	case errors.Is(err, memory.ErrExhausted):
		return newRefusal(outOfMemory, "%w", err)
	case joinederrors.IsPermanent(err) && isAny(err, memory.ErrTooLarge, inflate.ErrTooLarge):
		return newRefusal(tooLarge, "%w", err)
	case joinederrors.IsPermanent(err):
		return newRefusal(consumerRejected, "%w", err)
	default:
		return newRefusal(consumerUnavailable, "%w", err)
	}
}

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

// times is the time range in a request. It does not depend on the time of arrival: a retry gets the same ids.
type times struct {
	start time.Time
	end   time.Time
}

// setMissing sets the time of a profile without a time, or with one in 1970: some old clients write microseconds instead
// of nanoseconds, also as the duration. Equal payloads with different times are different captures, so the time becomes a part of the id.
func (t times) setMissing(profile pprofile.Profile) {
	const oneYear = pcommon.Timestamp(365 * 24 * time.Hour)
	if t.start.IsZero() || profile.Time() > oneYear {
		return
	}
	start, duration := pcommon.NewTimestampFromTime(t.start), uint64(max(0, t.end.Sub(t.start)))
	if profile.DurationNano() == 0 || profile.Time() != 0 && duration > 0 {
		profile.SetDurationNano(duration)
	}
	profile.SetTime(start)
	id := profile.ProfileID()
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(id[:], uint64(start)), duration))
	profile.SetProfileID(pprofile.ProfileID(sum[:16]))
}

// arrivalClock returns the times of arrival of payloads. They ascend strictly: a batch joins profiles with equal times to one pprof.
type arrivalClock struct{ last atomic.Int64 }

func (a *arrivalClock) next(now time.Time) pcommon.Timestamp {
	for {
		last := a.last.Load()
		if next := max(now.UnixNano(), last+1); a.last.CompareAndSwap(last, next) {
			return pcommon.Timestamp(next)
		}
	}
}
