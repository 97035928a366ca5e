// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// concurrencyWait is how long a request above the limit of concurrent requests waits.
const concurrencyWait = 5 * time.Second

// leastWork is the memory of a request when it begins to work, in bytes.
const leastWork = 256 << 10

// accounted gives each request a reservation, which it has until its answer is written.
func (p *pages) accounted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reservation := p.budget.Begin()
		defer reservation.Release()
		next.ServeHTTP(w, r.WithContext(memory.NewContext(r.Context(), reservation)))
	})
}

// begin waits until a request may work, for at most p.wait. work counts the memory until the answer is written, and fails if the
// client has left. The caller must call end after the work: writing the answer is outside of the limit of concurrent requests, since a
// client can be slow.
func (p *pages) begin(ctx context.Context) (work *meter.Meter, end func(), err error) {
	if err := p.acquire(ctx); err != nil {
		return nil, nil, err
	}
	reservation := memory.FromContext(ctx)
	err = ctx.Err()
	if err == nil {
		err = reservation.Grow(ctx, leastWork)
	}
	if err != nil {
		<-p.working
		return nil, nil, err
	}
	return reservation.Meter(ctx, leastWork), func() { <-p.working }, nil
}

// working calls do while the request may work, and returns its result.
func working[T any](p *pages, r *http.Request, do func(work *meter.Meter) (T, error)) (result T, err error) {
	work, end, err := p.begin(r.Context())
	if err != nil {
		return result, err
	}
	defer end()
	return do(work)
}

// acquire waits until the request may work.
func (p *pages) acquire(ctx context.Context) error {
	// A select among ready cases is random: without a wait, it could refuse a request although a place is free.
	select {
	case p.working <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case p.working <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fail(http.StatusServiceUnavailable, "the limit of %d concurrent requests is reached, try again", p.cfg.MaxConcurrentRequests)
	}
}

const (
	// maxRequests limits the requests in progress, including those that wait. maxStreams limits those of one connection with
	// HTTP/2.
	maxRequests = 500
	maxStreams  = 20
)

// limited refuses requests above maxRequests at once.
func (p *pages) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.requests <- struct{}{}:
			defer func() { <-p.requests }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("the limit of %d requests in progress is reached, try again", maxRequests), http.StatusServiceUnavailable)
		}
	})
}
