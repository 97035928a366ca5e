// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// requestLimiter limits how many requests are processed at a time, in total and for each tenant.
type requestLimiter struct {
	// total is the limit for all requests, perTenant the limit for one tenant. 0 means no limit per tenant.
	total, perTenant int
	// wait is how long a request above a limit waits.
	wait time.Duration
	all  *semaphore.Weighted

	mu sync.Mutex
	// tenants has the tenants with requests.
	tenants map[string]*tenantLimiter
}

// tenantLimiter limits the requests of one tenant.
type tenantLimiter struct {
	*semaphore.Weighted
	// requests counts the requests that are processed or waiting. The lock of requestLimiter protects it.
	requests int
}

func newRequestLimiter(total, perTenant int, wait time.Duration) *requestLimiter {
	return &requestLimiter{
		total: total, perTenant: perTenant, wait: wait,
		all: semaphore.NewWeighted(int64(total)), tenants: map[string]*tenantLimiter{},
	}
}

// acquire waits until a request can be processed. The caller must call release afterwards. A request that waits for the
// limit of its tenant does not count toward the total limit.
func (l *requestLimiter) acquire(ctx context.Context, tenant string) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	releaseTenant, err := l.acquireTenant(ctx, waiting, tenant)
	if err != nil {
		return nil, err
	}
	if !acquire(waiting, l.all) {
		releaseTenant()
		if ctx.Err() != nil {
			return nil, canceled(ctx)
		}
		return nil, refusal.New(refusal.Busy, "%d requests are being processed (max_concurrent_requests), and none finished within %s", l.total, l.wait)
	}
	return func() {
		l.all.Release(1)
		releaseTenant()
	}, nil
}

// acquireTenant waits for the limit of the tenant.
func (l *requestLimiter) acquireTenant(ctx, waiting context.Context, tenant string) (release func(), err error) {
	if l.perTenant == 0 {
		return func() {}, nil
	}
	own := l.addRequest(tenant)
	if !acquire(waiting, own.Weighted) {
		l.removeRequest(tenant, own)
		if ctx.Err() != nil {
			return nil, canceled(ctx)
		}
		return nil, refusal.New(refusal.TenantBusy, "%d requests of this tenant are being processed (max_concurrent_requests_per_tenant), and none finished within %s",
			l.perTenant, l.wait)
	}
	return func() {
		own.Release(1)
		l.removeRequest(tenant, own)
	}, nil
}

// addRequest returns the limiter of a tenant. The caller must call removeRequest after the request.
func (l *requestLimiter) addRequest(tenant string) *tenantLimiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.tenants[tenant]
	if own == nil {
		own = &tenantLimiter{Weighted: semaphore.NewWeighted(int64(l.perTenant))}
		l.tenants[tenant] = own
	}
	own.requests++
	return own
}

func (l *requestLimiter) removeRequest(tenant string, own *tenantLimiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.requests--; own.requests == 0 {
		delete(l.tenants, tenant)
	}
}

// acquire waits for a semaphore until ctx ends. It reports whether it succeeded.
func acquire(ctx context.Context, s *semaphore.Weighted) bool {
	return s.TryAcquire(1) || s.Acquire(ctx, 1) == nil
}
