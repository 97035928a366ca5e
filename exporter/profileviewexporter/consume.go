// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func (v *viewExporter) consume(ctx context.Context, pd pprofile.Profiles) error {
	if v.pages == nil {
		return errors.New("cannot accept profiles before the start")
	}
	tenant := v.cfg.Tenant.Of(ctx)
	// Storing a message waits for nothing but memory, so it goes on if the sender leaves: the sender would only send it again.
	ctx = context.WithoutCancel(ctx)
	return delivery.Deliver(ctx, pd, v.encoder, v.telemetry.Telemetry, func(payload *pprof.Payload, work *meter.Meter) error {
		err := v.addPprof(ctx, payload, tenant, work)
		if errors.Is(err, pprof.ErrTooLarge) {
			return delivery.Refuse(payload, delivery.ReasonTooLarge, err)
		}
		return err // A retry counts no profile with an ID twice: the store drops those that it has.
	})
}

// addPprof adds one pprof to the store, and to the directory. A pprof that is larger than max_memory is refused.
func (v *viewExporter) addPprof(ctx context.Context, payload *pprof.Payload, tenant string, work *meter.Meter) error {
	u := store.Upload{
		Resource: store.NewResource(tenant, payload.Resource.Attributes()), Type: payload.ProfileType, ID: payload.ProfileID,
		Duration: time.Duration(min(payload.DurationNano, math.MaxInt64)), Pprof: payload.Pprof,
	}
	if nanos := int64(payload.Time); nanos > 0 {
		u.Time = time.Unix(0, nanos)
	}
	p, err := v.store.Add(u, work)
	switch {
	case errors.Is(err, store.ErrTooLarge):
		return delivery.Refuse(payload, delivery.ReasonTooLarge, err)
	case errors.Is(err, symbols.ErrInvalid), errors.Is(err, pprofwire.ErrMalformed), errors.Is(err, pprofwire.ErrTooLarge):
		return delivery.Refuse(payload, delivery.ReasonInvalid, err)
	case err != nil:
		return fmt.Errorf("cannot store a profile: %w", err)
	}
	if p != nil {
		work.Set(0) // The store has what it needs.
		v.directory.write(ctx, payload, tenant, work)
	}
	v.telemetry.Wrote(ctx, payload.Profiles, payload.Samples, payload.Lost)
	return nil
}
