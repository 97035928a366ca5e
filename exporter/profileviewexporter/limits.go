// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
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

// maxQuery limits the length of a query. The time to read a query is linear in its length.
const maxQuery = 8 << 10

// anyHost in allowed_hosts accepts every name.
const anyHost = "*"

// allowedHosts returns the names that requests may have in Host, or nil for every name. On a loopback address the names are
// limited, since another site can make its own name resolve to that address (DNS rebinding).
func allowedHosts(cfg *Config, listener net.Addr) map[string]bool {
	names := cfg.AllowedHosts
	if len(names) == 0 {
		if !isLoopback(listener) {
			return nil
		}
		names = []string{"localhost", "127.0.0.1", "::1", hostName(cfg.HTTP.NetAddr.Endpoint)}
	}
	allowed := make(map[string]bool, len(names))
	for _, name := range names {
		if name == anyHost {
			return nil
		}
		allowed[hostName(name)] = true
	}
	return allowed
}

func isLoopback(listener net.Addr) bool {
	address, isTCP := listener.(*net.TCPAddr)
	return isTCP && address.IP.IsLoopback()
}

// openToAll reports whether anyone who reaches the listener may read the profiles.
func openToAll(cfg *Config, listener net.Addr) bool {
	tls := cfg.HTTP.TLS.Get()
	return !cfg.HTTP.Auth.HasValue() && (tls == nil || tls.ClientCAFile == "") && !isLoopback(listener)
}

// hostName returns the name in host, host:port, [host]:port and [host].
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// check returns an error for a request with another host name, a query that is too long, or one that a browser makes for a page of another
// site: it could cost work and change the state of a scraper. Links of other sites and the origins that the option cors allows are accepted.
// The handler for CORS comes first: it has checked the origin and set the header of the answer.
func (v *viewExporter) check(header http.Header, r *http.Request) error {
	origin, allowed := r.Header.Get("Origin"), header.Get("Access-Control-Allow-Origin")
	isAllowed := origin != "" && (allowed == origin || allowed == "*")
	switch {
	case v.hosts != nil && !v.hosts[hostName(r.Host)]:
		return fail(http.StatusForbidden, "the host of the request is not one of this server; the option allowed_hosts of the exporter has the names that are")
	case len(r.URL.RawQuery) > maxQuery:
		return fail(http.StatusRequestURITooLong, "the query has more than %d bytes", maxQuery)
	case isForeign(r) && !isAllowed:
		return fail(http.StatusForbidden,
			"a page of another site has made this request (Sec-Fetch-Site); only links without the parameter scraper are accepted from there, or origins of the option cors")
	}
	return nil
}

// isForeign returns whether a browser makes the request for a page of another site, and the user does not see the answer as a page.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "cross-site" && site != "same-site" {
		return false
	}
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !isLink || r.URL.Query().Get(scraperParameter) != ""
}
