// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func (v *viewExporter) consume(ctx context.Context, pd pprofile.Profiles) error {
	if v.pages == nil {
		return errors.New("cannot accept profiles before the start")
	}
	tenant := v.cfg.Tenant.Of(ctx)
	// Storing a message waits for nothing but memory, so it goes on if the sender leaves: the sender would only send it again.
	ctx, working := delivery.BeginWork(context.WithoutCancel(ctx))
	defer working.Release()
	payloads := v.encoder.AllReserving(pd, working.Part(ctx))
	reserve := working.Part(ctx)
	return delivery.Deliver(ctx, pd, payloads, v.telemetry.Telemetry, func(payload *pprof.Payload) error {
		err := v.addPprof(ctx, payload, tenant, reserve)
		if errors.Is(err, pprof.ErrTooLarge) {
			return delivery.Refuse(payload, delivery.ReasonTooLarge, err)
		}
		return err // A retry counts no profile with an ID twice: the store drops those that it has.
	})
}

// addPprof adds one pprof to the store. A pprof that is larger than max_memory or max_request_size is refused.
func (v *viewExporter) addPprof(ctx context.Context, payload *pprof.Payload, tenant string, reserve func(bytes int64) error) error {
	if size := int64(len(payload.Pprof)); size > v.cfg.MaxRequestSize {
		return delivery.Refuse(payload, delivery.ReasonTooLarge,
			fmt.Errorf("cannot store a profile of %d bytes, max_request_size is %d", size, v.cfg.MaxRequestSize))
	}
	if err := reserve(storeCost * int64(len(payload.Pprof))); err != nil {
		return fmt.Errorf("cannot store a profile: %w", err)
	}
	e, err := entryOf(payload, tenant, time.Now())
	if err == nil && v.foreign {
		err = pprofmerge.Check(payload.Pprof, func(bytes int64) error {
			return reserve(storeCost*int64(len(payload.Pprof)) + bytes)
		})
	}
	if errors.Is(err, memory.ErrExhausted) || errors.Is(err, memory.ErrTooLarge) {
		return fmt.Errorf("cannot store a profile: %w", err)
	}
	if err != nil {
		return delivery.Refuse(payload, delivery.ReasonInvalid, err)
	}
	if !v.store.Add(e) {
		return delivery.Refuse(payload, delivery.ReasonTooLarge,
			fmt.Errorf("cannot store a profile of %d compressed bytes, max_memory is %d", len(e.Compressed), v.cfg.MaxMemory))
	}
	v.telemetry.Wrote(ctx, payload.Profiles, payload.Samples, payload.Lost)
	return nil
}

// storeCost is the memory to compress a profile and read its header, as a multiple of its size.
const storeCost = 3
