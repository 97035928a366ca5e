// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"
)

// places bound how many requests are worked on at a time, and thereby the memory that they take together. One tenant can
// be held to a part of them.
type places struct {
	taken   chan struct{}
	wait    time.Duration
	tenants *tenantPlaces
}

// newPlaces makes count places. perTenant is how many of them one tenant may have, 0 is no limit.
func newPlaces(count, perTenant int, wait time.Duration) *places {
	return &places{taken: make(chan struct{}, count), wait: wait, tenants: newTenantPlaces(perTenant)}
}

// take takes a place for a tenant, waiting for one if need be. Each place taken must be left. Who waits for its tenant
// is not in the way of others.
func (p *places) take(ctx context.Context, tenant string) (leave func(), err error) {
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	own := p.tenants.enter(tenant)
	if err := own.take(ctx, timer.C, p.wait); err != nil {
		p.tenants.exit(tenant, own)
		return nil, err
	}
	leaveTenant := func() {
		own.leave()
		p.tenants.exit(tenant, own)
	}
	select {
	case p.taken <- struct{}{}:
	default:
		select {
		case p.taken <- struct{}{}:
		case <-timer.C:
			leaveTenant()
			return nil, refuse(classBusy, "%d requests are being worked on (max_concurrent_requests), and no place came free within %s", cap(p.taken), p.wait)
		case <-ctx.Done():
			leaveTenant()
			return nil, gaveUp(ctx)
		}
	}
	return func() {
		<-p.taken
		leaveTenant()
	}, nil
}

func gaveUp(ctx context.Context) error {
	return refuse(classAborted, "the sender did not wait for its turn: %w", ctx.Err())
}
