// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"
	"golang.org/x/sync/semaphore"
)

// requestLimiter limits how many requests are processed at a time, in total and for each tenant.
type requestLimiter struct {
	// total is the limit for all requests, perTenant the limit for one tenant.
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

// newRequestLimiter returns a limiter. A perTenant of 0 means no limit per tenant.
func newRequestLimiter(total, perTenant int, wait time.Duration) *requestLimiter {
	return &requestLimiter{
		total: total, perTenant: cmp.Or(perTenant, math.MaxInt), wait: wait,
		all: semaphore.NewWeighted(int64(total)), tenants: map[string]*tenantLimiter{},
	}
}

// acquire waits until a request can be processed. The caller must call release afterwards. A request that waits for the
// limit of its tenant does not count toward the total limit.
func (l *requestLimiter) acquire(ctx context.Context, tenant string) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	own := l.addRequest(tenant)
	switch {
	case !acquire(waiting, own.Weighted):
		err = newRefusal(tenantBusy, "%d requests of this tenant are being processed (max_concurrent_requests_per_tenant), and none finished within %s",
			l.perTenant, l.wait)
	case !acquire(waiting, l.all):
		own.Release(1)
		err = newRefusal(busy, "%d requests are being processed (max_concurrent_requests), and none finished within %s", l.total, l.wait)
	default:
		return func() {
			l.all.Release(1)
			own.Release(1)
			l.removeRequest(tenant, own)
		}, nil
	}
	l.removeRequest(tenant, own)
	if ctx.Err() != nil {
		err = canceled(ctx.Err())
	}
	return nil, err
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

// canceled returns the error for a request whose client stopped waiting.
func canceled(err error) error {
	return newRefusal(aborted, "the client canceled the request before the answer: %w", err)
}

// tenantHeader is the header that names the tenant in requests to Pyroscope and Loki.
const tenantHeader = "X-Scope-OrgID"

// tenantOf returns the tenant of a request, from what the option tenant_from says.
func tenantOf(from string, r *http.Request) string {
	switch from {
	case TenantFromAuth:
		return authenticated(r)
	case TenantFromAddress:
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr // It is a Unix socket.
		}
		return host
	default:
		return r.Header.Get(tenantHeader)
	}
}

// authenticated returns the name of the client: the attribute subject (oidc) or username (basicauth). Other
// authenticators, such as bearertokenauth, do not name the client. Then the name is the header Authorization.
func authenticated(r *http.Request) string {
	if auth := client.FromContext(r.Context()).Auth; auth != nil {
		for _, attribute := range []string{"subject", "username"} {
			if name, _ := auth.GetAttribute(attribute).(string); name != "" {
				return attribute + " " + name
			}
		}
	}
	return r.Header.Get("Authorization")
}
