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
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func (v *viewExporter) consume(ctx context.Context, pd pprofile.Profiles) error {
	if v.pages == nil {
		return errors.New("cannot hold profiles before the start")
	}
	tenant := v.cfg.Tenant.Of(ctx)
	// A repetition would hold profiles twice: a request that was begun is done to its end. One that found no memory for its
	// first profile comes again.
	ctx, claim := v.memory.Claim(context.WithoutCancel(ctx))
	defer claim.Release()
	begun := false
	payloads := v.encoder.AllReserving(pd, claim.Reserve(ctx, delivery.ForEncoder))
	return delivery.Deliver(ctx, pd, payloads, v.telemetry.Telemetry, func(payload *pprof.Payload) error {
		err := v.hold(ctx, payload, tenant, claim.Reserve(ctx, delivery.ForBody))
		if _, lost := errors.AsType[*delivery.Refusal](err); err != nil && !lost && (begun || errors.Is(err, pprof.ErrTooLarge)) {
			err = delivery.Refuse(payload, delivery.ReasonTooLarge, err)
		}
		begun = true
		return err
	})
}

// hold takes one pprof into the store. What alone is larger than the store, or than what a request may merge, is lost.
func (v *viewExporter) hold(ctx context.Context, payload *pprof.Payload, tenant string, reserve func(bytes int64) error) error {
	if size := int64(len(payload.Pprof)); size > v.cfg.MaxRequestSize {
		return delivery.Refuse(payload, delivery.ReasonTooLarge,
			fmt.Errorf("cannot hold a profile of %d bytes, max_request_size is %d", size, v.cfg.MaxRequestSize))
	}
	if err := reserve(holdCost * int64(len(payload.Pprof))); err != nil {
		return fmt.Errorf("cannot hold a profile: %w", err)
	}
	e, err := entryOf(payload, tenant, time.Now())
	if err == nil && v.foreign {
		err = pprofmerge.Check(payload.Pprof, func(bytes int64) error {
			return reserve(holdCost*int64(len(payload.Pprof)) + bytes)
		})
	}
	if errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrTooLarge) {
		return fmt.Errorf("cannot hold a profile: %w", err)
	}
	if err != nil {
		return delivery.Refuse(payload, delivery.ReasonInvalid, err)
	}
	if !v.store.Add(e) {
		return delivery.Refuse(payload, delivery.ReasonTooLarge,
			fmt.Errorf("cannot hold a profile of %d compressed bytes, max_memory is %d", len(e.Compressed), v.cfg.MaxMemory))
	}
	v.telemetry.Wrote(ctx, payload.Profiles, payload.Samples, payload.Lost)
	return nil
}

// holdCost is how many times its size a profile takes while it is compressed and its head is read.
const holdCost = 3
