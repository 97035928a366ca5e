// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// leftOutHeader is the header with the number of profiles that an answer leaves out because of max_request_size.
const leftOutHeader = "X-Pprof-Profiles-Left-Out"

// answerLevel is the gzip level of merged profiles. It is the fastest, since the client waits for the answer.
const answerLevel = 1

// pages serves the HTTP requests.
type pages struct {
	cfg    *Config
	store  *recent.Store
	budget *memory.Budget
	// hosts are the host names that requests may have. nil accepts every name.
	hosts map[string]bool
	// merging limits the number of requests that merge. It has one element for each of them.
	merging chan struct{}
	// requests limits the number of requests in progress. It has one element for each of them.
	requests chan struct{}
	// start is random. It makes the ETags of each run of the process different.
	start    [8]byte
	scrapers scrapers
	now      func() time.Time
}

func newPages(cfg *Config, store *recent.Store, bytes *memory.Budget) *pages {
	p := &pages{
		cfg: cfg, store: store, budget: bytes, now: time.Now,
		merging: make(chan struct{}, cfg.MaxConcurrentRequests), requests: make(chan struct{}, maxRequests),
	}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// handler returns the routes. No request opens a file or starts a program, and only scrapers keep state.
func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	for path, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/{$}":                       p.serveList,
		"/profiles":                  p.serveSeries,
		"/profiles/{service}/{type}": p.serveProfile,
		"/pgo/{service}":             p.servePGO,
		"/static/timeline.js":        p.serveScript(timelineScript),
		"/static/flamegraph.js":      p.serveScript(flamegraphScript),
	} {
		mux.Handle("GET "+path, handle(serve))
	}
	for name, f := range formats {
		mux.Handle("GET /"+name+"/{service}/{type}", handle(p.serveExport(f)))
	}
	mux.Handle("GET /trace/{id}", handle(p.serveTrace("trace", traceParameter)))
	mux.Handle("GET /span/{id}", handle(p.serveTrace("span", spanParameter)))
	p.routeViews(mux)
	if p.cfg.PathPrefix == "" {
		return p.limited(p.guarded(withoutOtherSites(mux)))
	}
	return p.limited(p.guarded(withoutOtherSites(http.StripPrefix(p.cfg.PathPrefix, mux))))
}

// The Content-Security-Policies of a page without scripts, of one that loads scripts of this server, and of one that also has
// inline scripts.
const (
	policyPlain  = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	policyOwn    = policyPlain + "; script-src 'self'"
	policyViewer = policyPlain + "; script-src 'self' 'unsafe-inline'"
)

// tenant returns the tenant whose profiles a request sees.
func (p *pages) tenant(r *http.Request) string {
	if p.cfg.Tenant.MetadataKey != "" {
		if tenant := r.Header.Get(p.cfg.Tenant.Header); tenant != "" {
			return tenant
		}
	}
	return p.cfg.Tenant.Default
}

// serveProfile answers with the merged profile of a service and type.
func (p *pages) serveProfile(w http.ResponseWriter, r *http.Request) error {
	r, held, err := p.selecting(r, profileParameters)
	if err != nil {
		return err
	}
	defer held.Release()
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	scraper, named := p.scraperOf(r)
	if !named && p.notModified(w, r, "", chosen) {
		return nil
	}
	given := false
	err = p.serveLimited(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
		merged, err := merge.Profiles(work, chosen)
		if err != nil {
			// A scraper of some samples goes on after profiles without them. Else it would ask for the same profiles again.
			given = errors.Is(err, merge.ErrNoSamples)
			return nil, mergeError(err)
		}
		// Compressed data is at most as large as its source, plus the gzip header.
		if err := work.Keep(2*int64(cap(merged)) + leastWork); err != nil {
			return nil, err
		}
		return pprof.AppendGzip(nil, merged, answerLevel)
	}, func(body []byte) error {
		err := writeProfile(w, "profile.pb.gz", body)
		given = err == nil
		return err
	})
	if named && given && r.Method == http.MethodGet {
		p.scrapers.remember(scraper, chosen, p.now())
	}
	return err
}

func writeProfile(w http.ResponseWriter, name string, body []byte) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body) //nolint:gosec // an attachment, which browsers do not render
	return err
}

// mergeError returns the answer for an error of merging.
func mergeError(err error) error {
	if errors.Is(err, merge.ErrDiffers) {
		return fail(http.StatusUnprocessableEntity, "%v: select a time or attributes that only some of them have", err)
	}
	if errors.Is(err, merge.ErrNoSamples) {
		return fail(http.StatusNotFound, "none of these profiles has a sample of this trace or span with these labels")
	}
	if errors.Is(err, memory.ErrTooLarge) {
		return fail(http.StatusUnprocessableEntity, "%v: select a shorter time", err)
	}
	return err
}

// leastWork is the initial reservation of a request, in bytes.
const leastWork = 256 << 10

// serveLimited makes an answer within the limit of concurrent requests, and then writes it. Writing is outside of that limit, since
// a client can be slow. values are the parameters that select samples. The memory stays reserved until the answer is written.
func (p *pages) serveLimited(r *http.Request, values url.Values, answer func(*merge.Work) ([]byte, error), write func([]byte) error) error {
	only, err := p.onlyOf(values, "")
	if err != nil {
		return err
	}
	baseOnly, err := p.onlyOf(values, basePrefix)
	if err != nil {
		return err
	}
	work := &merge.Work{Context: r.Context(), Only: only, BaseOnly: baseOnly}
	defer func() { work.Reservation.Release() }() // even if drawing panics
	body, err := p.answerLimited(r, work, answer)
	if err != nil {
		return err
	}
	if err := work.Keep(int64(cap(body))); err != nil {
		return err
	}
	return write(body)
}

// answerLimited makes an answer within the limit of concurrent requests, with an initial reservation. The caller must release the
// reservation.
func (p *pages) answerLimited(r *http.Request, work *merge.Work, answer func(*merge.Work) ([]byte, error)) (body []byte, err error) {
	release, err := p.acquire(r)
	if err != nil {
		return nil, err
	}
	defer release()
	if work.Reservation, err = p.budget.Reserve(r.Context(), leastWork+expressionBytes(work.Only)+expressionBytes(work.BaseOnly)); err != nil {
		return nil, err
	}
	return answer(work)
}

// acquire waits until the request may merge, for at most concurrency_wait. The caller must call release.
func (p *pages) acquire(r *http.Request) (release func(), err error) {
	release = func() { <-p.merging }
	// A select among ready cases is random: with concurrency_wait 0, it could refuse a request although a place is free.
	select {
	case p.merging <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(p.cfg.ConcurrencyWait)
	defer timer.Stop()
	select {
	case p.merging <- struct{}{}:
		return release, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
		return nil, fail(http.StatusServiceUnavailable, "the limit of %d concurrent requests is reached, try again", p.cfg.MaxConcurrentRequests)
	}
}

// address returns a relative URL path of escaped parts.
func address(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	return strings.Join(escaped, "/")
}
