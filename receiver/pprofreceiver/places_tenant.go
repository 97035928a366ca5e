// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"sync"
	"time"
)

// tenantPlaces holds the places of tenants that have requests; it knows no others.
type tenantPlaces struct {
	limit int
	mu    sync.Mutex
	inUse map[string]*tenantPlace
}

// tenantPlace is the places of one tenant. It is nil where there is no limit.
type tenantPlace struct {
	taken chan struct{}
	// users counts requests that have a place or wait for one. The lock of tenantPlaces guards it.
	users int
}

func newTenantPlaces(limit int) *tenantPlaces {
	return &tenantPlaces{limit: limit, inUse: map[string]*tenantPlace{}}
}

// enter returns the places of a tenant. Whoever enters must exit.
func (t *tenantPlaces) enter(tenant string) *tenantPlace {
	if t.limit == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.inUse[tenant]
	if p == nil {
		p = &tenantPlace{taken: make(chan struct{}, t.limit)}
		t.inUse[tenant] = p
	}
	p.users++
	return p
}

func (t *tenantPlaces) exit(tenant string, p *tenantPlace) {
	if p == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.inUse, tenant)
	}
}

// take takes a place until the time is over.
func (p *tenantPlace) take(ctx context.Context, over <-chan time.Time, wait time.Duration) error {
	if p == nil {
		return nil
	}
	select {
	case p.taken <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.taken <- struct{}{}:
		return nil
	case <-over:
		return refuse(classTenantBusy, "%d requests of this tenant are being worked on (max_concurrent_requests_per_tenant), and none ended within %s", cap(p.taken), wait)
	case <-ctx.Done():
		return gaveUp(ctx)
	}
}

func (p *tenantPlace) leave() {
	if p != nil {
		<-p.taken
	}
}
