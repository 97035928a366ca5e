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
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// leftOutHeader tells how many older profiles an answer leaves out to keep to max_request_size.
const leftOutHeader = "X-Pprof-Profiles-Left-Out"

// answerLevel is the gzip level of profiles that are fetched: who fetches one waits for it.
const answerLevel = 1

// pages answer requests.
type pages struct {
	cfg    *Config
	store  *recent.Store
	budget *budget.Budget
	// hosts are the names that requests may use, nil for all.
	hosts map[string]bool
	// places has one element for each request that merges.
	places chan struct{}
	// start makes the tags of answers differ from those of an earlier run.
	start    [8]byte
	scrapers scrapers
	now      func() time.Time
}

func newPages(cfg *Config, store *recent.Store, bytes *budget.Budget) *pages {
	p := &pages{cfg: cfg, store: store, budget: bytes, places: make(chan struct{}, cfg.MaxConcurrentRequests), now: time.Now}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// handler routes requests. What answers here opens no file, starts no program and changes nothing.
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
		mux.Handle("GET "+path, answering(serve))
	}
	for name, f := range formats {
		mux.Handle("GET /"+name+"/{service}/{type}", answering(p.serveExport(f)))
	}
	mux.Handle("GET /trace/{id}", answering(p.serveTrace("trace", traceParameter)))
	mux.Handle("GET /span/{id}", answering(p.serveTrace("span", spanParameter)))
	p.routeViews(mux)
	if p.cfg.PathPrefix == "" {
		return p.guarded(mux)
	}
	return p.guarded(http.StripPrefix(p.cfg.PathPrefix, mux))
}

// The policies of what a page may do: nothing at all, to run the script of the timeline, or also the scripts that are in it.
const (
	policyPlain  = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	policyOwn    = policyPlain + "; script-src 'self'"
	policyViewer = policyPlain + "; script-src 'self' 'unsafe-inline'"
)

// tenant is whose profiles a request sees.
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
	if err := checkParameters(r.URL.Query(), profileParameters); err != nil {
		return err
	}
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	scraper, named := p.scraperOf(r)
	if !named && p.unchanged(w, r, "", chosen) {
		return nil
	}
	err = p.inPlace(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
		merged, err := merge.Profiles(work, chosen)
		if err != nil {
			return nil, unmerged(err)
		}
		// What is gzipped is not larger, but for what surrounds it.
		if err := work.Keep(2*int64(cap(merged)) + leastWork); err != nil {
			return nil, err
		}
		return pprof.AppendGzip(nil, merged, answerLevel)
	}, func(body []byte) error {
		return writeProfile(w, "profile.pb.gz", body)
	})
	if named && err == nil && r.Method == http.MethodGet {
		p.scrapers.gave(scraper, chosen, p.now())
	}
	return err
}

func writeProfile(w http.ResponseWriter, name string, body []byte) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body) //nolint:gosec // an attachment that no browser shows
	return err
}

// unmerged makes an answer of an error of merging.
func unmerged(err error) error {
	if errors.Is(err, merge.ErrDiffers) {
		return fail(http.StatusUnprocessableEntity, "%v: ask for a time or for attributes that only some of them have", err)
	}
	if errors.Is(err, merge.ErrNoSamples) {
		return fail(http.StatusNotFound, "none of these profiles has a sample of that trace or span, and with these labels")
	}
	if errors.Is(err, budget.ErrTooLarge) {
		return fail(http.StatusUnprocessableEntity, "%v: ask for a shorter time", err)
	}
	return err
}

// leastWork is what a request reserves before it begins.
const leastWork = 256 << 10

// inPlace makes an answer while it has a place among the requests that merge, and then writes it: a client may take its
// time. values are the parameters that say which samples count. The place is given back when the work has ended, also where nobody waits for it any more. What was reserved is
// given back when the answer is written.
func (p *pages) inPlace(r *http.Request, values url.Values, answer func(*merge.Work) ([]byte, error), write func([]byte) error) error {
	only, err := p.onlyOf(values, "")
	if err != nil {
		return err
	}
	baseOnly, err := p.onlyOf(values, basePrefix)
	if err != nil {
		return err
	}
	work := &merge.Work{Context: r.Context(), Only: only, BaseOnly: baseOnly}
	body, err := p.worked(r, work, answer)
	defer work.Reservation.Release()
	if err != nil {
		return err
	}
	if err := work.Keep(int64(cap(body))); err != nil {
		return err
	}
	return write(body)
}

// worked makes an answer while it has a place and a reservation. The place is given back.
func (p *pages) worked(r *http.Request, work *merge.Work, answer func(*merge.Work) ([]byte, error)) (body []byte, err error) {
	release, err := p.place(r)
	if err != nil {
		return nil, err
	}
	defer release()
	if work.Reservation, err = p.budget.Reserve(r.Context(), leastWork+expressionBytes(work.Only)+expressionBytes(work.BaseOnly)); err != nil {
		return nil, err
	}
	return answer(work)
}

// place waits for a place among the requests that merge. Release gives it back.
func (p *pages) place(r *http.Request) (release func(), err error) {
	timer := time.NewTimer(p.cfg.ConcurrencyWait)
	defer timer.Stop()
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
		return nil, fail(http.StatusServiceUnavailable, "%d requests are being worked on, try again", p.cfg.MaxConcurrentRequests)
	}
}

// address is a URL path below the prefix, relative to the list.
func address(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	return strings.Join(escaped, "/")
}
