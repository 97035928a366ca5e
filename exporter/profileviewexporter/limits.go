// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

const (
	// maxRequests limits the requests in progress, including those that wait. maxStreams limits those of one connection with
	// HTTP/2.
	maxRequests = 500
	maxStreams  = 20
	// concurrencyWait is how long a request above the limit of concurrent requests waits.
	concurrencyWait = 5 * time.Second
	// leastWork is the memory of a request when it begins to work, in bytes.
	leastWork = 256 << 10
)

// admitted refuses requests above maxRequests at once, and those that no handler may see. Each other request gets a reservation, which it
// has until its answer is written.
func (v *viewExporter) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		select {
		case v.requests <- struct{}{}:
			defer func() { <-v.requests }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("the limit of %d requests in progress is reached, try again", maxRequests), http.StatusServiceUnavailable)
			return
		}
		if err := v.check(w.Header(), r); err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		reservation := v.budget.Begin()
		defer reservation.Release()
		next.ServeHTTP(answerWriter{w, reservation}, r.WithContext(memory.NewContext(r.Context(), reservation)))
	})
}

// answerWriter ends a client that reads an answer too slowly while others wait for memory.
type answerWriter struct {
	http.ResponseWriter
	reservation *memory.Reservation
}

func (a answerWriter) Write(answer []byte) (int, error) {
	return a.reservation.WriteAnswer(a.ResponseWriter, answer, func() {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
	})
}

// begin waits for a restore, and then until a request may work, for at most v.wait. work counts the memory until the answer is written, and fails if the
// client has left. The caller must call end after the work, at least once.
func (v *viewExporter) begin(r *http.Request) (work *meter.Meter, end func(), err error) {
	ctx := r.Context()
	select {
	case <-v.restored:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if err := v.acquire(ctx); err != nil {
		return nil, nil, err
	}
	work = memory.FromContext(ctx).Meter(ctx, leastWork)
	if err := work.Continue(); err != nil { // It reserves leastWork.
		<-v.working
		return nil, nil, err
	}
	return work, sync.OnceFunc(func() { <-v.working }), nil
}

// acquire waits until the request may work.
func (v *viewExporter) acquire(ctx context.Context) error {
	timer := time.NewTimer(v.wait)
	defer timer.Stop()
	select {
	case v.working <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fail(http.StatusServiceUnavailable, "the limit of %d concurrent requests is reached, try again", v.cfg.MaxConcurrentRequests)
	}
}
