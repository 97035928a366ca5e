// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// places bound how many requests are worked on at a time. One tenant can be held to a part of them.
type places struct {
	count, perTenant int
	wait             time.Duration
	all              *semaphore.Weighted

	mu sync.Mutex
	// tenants has those that have requests.
	tenants map[string]*tenantPlaces
}

// tenantPlaces are the places of one tenant.
type tenantPlaces struct {
	*semaphore.Weighted
	// users counts requests that have a place or wait for one. The lock of places guards it.
	users int
}

// newPlaces makes count places. perTenant is how many of them one tenant may have, 0 is no limit.
func newPlaces(count, perTenant int, wait time.Duration) *places {
	return &places{
		count: count, perTenant: perTenant, wait: wait,
		all: semaphore.NewWeighted(int64(count)), tenants: map[string]*tenantPlaces{},
	}
}

// take takes a place for a tenant, waiting for one if need be. Each place taken must be left. Who waits for its tenant
// is not in the way of others.
func (p *places) take(ctx context.Context, tenant string) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	leaveTenant, err := p.takeOfTenant(ctx, waiting, tenant)
	if err != nil {
		return nil, err
	}
	if !acquire(waiting, p.all) {
		leaveTenant()
		if ctx.Err() != nil {
			return nil, gaveUp(ctx)
		}
		return nil, refuse(classBusy, "%d requests are being worked on (max_concurrent_requests), and no place came free within %s", p.count, p.wait)
	}
	return func() {
		p.all.Release(1)
		leaveTenant()
	}, nil
}

// takeOfTenant takes one of the places that the tenant may have.
func (p *places) takeOfTenant(ctx, waiting context.Context, tenant string) (leave func(), err error) {
	if p.perTenant == 0 {
		return func() {}, nil
	}
	own := p.enter(tenant)
	if !acquire(waiting, own.Weighted) {
		p.exit(tenant, own)
		if ctx.Err() != nil {
			return nil, gaveUp(ctx)
		}
		return nil, refuse(classTenantBusy, "%d requests of this tenant are being worked on (max_concurrent_requests_per_tenant), and none ended within %s",
			p.perTenant, p.wait)
	}
	return func() {
		own.Release(1)
		p.exit(tenant, own)
	}, nil
}

// enter returns the places of a tenant. Whoever enters must exit.
func (p *places) enter(tenant string) *tenantPlaces {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.tenants[tenant]
	if own == nil {
		own = &tenantPlaces{Weighted: semaphore.NewWeighted(int64(p.perTenant))}
		p.tenants[tenant] = own
	}
	own.users++
	return own
}

func (p *places) exit(tenant string, own *tenantPlaces) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(p.tenants, tenant)
	}
}

// acquire takes one place, waiting until ctx ends.
func acquire(ctx context.Context, of *semaphore.Weighted) bool {
	return of.TryAcquire(1) || of.Acquire(ctx, 1) == nil
}

func gaveUp(ctx context.Context) error {
	return refuse(classAborted, "the sender did not wait for its turn: %w", ctx.Err())
}
