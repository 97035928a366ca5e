// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"crypto/rand"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/querier"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// pages serves the HTTP requests.
type pages struct {
	cfg    *Config
	store  *store.Store
	source query.Source
	budget *memory.Budget
	// hosts are the host names that requests may have. nil accepts every name.
	hosts map[string]bool
	// working limits the number of requests that work. It has one element for each of them.
	working chan struct{}
	// wait is how long a request waits for that.
	wait time.Duration
	// requests limits the number of requests in progress. It has one element for each of them.
	requests chan struct{}
	// start is random. It makes the ETags of each run of the process different.
	start    [8]byte
	scrapers scrapers
	now      func() time.Time
}

func newPages(cfg *Config, store *store.Store, bytes *memory.Budget) *pages {
	p := &pages{
		cfg: cfg, store: store, budget: bytes, wait: concurrencyWait, now: time.Now,
		source:  query.Source{Store: store, TraceLabel: cfg.Encoding.LinkLabels.Trace, SpanLabel: cfg.Encoding.LinkLabels.Span},
		working: make(chan struct{}, cfg.MaxConcurrentRequests), requests: make(chan struct{}, maxRequests),
	}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// handler returns the routes. No request opens a file or starts a program, and only scrapers keep state.
func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	for path, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/{$}":                       p.serveFile,
		"/static/{name}":             p.serveFile,
		"/profiles":                  p.serveSeries,
		"/profiles/{service}/{type}": p.serveProfile,
		"/pgo/{service}":             p.servePGO,
		"/functions":                 p.serveFunctions,
		"/download/{format}":         p.serveDownload,
		"/info":                      p.serveInfo,
		"/plain":                     p.servePlainList,
		"/plain/functions":           p.servePlainFunctions,
	} {
		mux.Handle("GET "+path, handle(serve))
	}
	api := &querier.Server{Source: p.source, Tenant: p.tenant, Begin: p.begin, Code: codeOf}
	api.Handle(mux)
	handler := http.Handler(mux)
	if p.cfg.PathPrefix != "" {
		handler = http.StripPrefix(p.cfg.PathPrefix, mux)
	}
	return p.limited(p.guarded(withoutOtherSites(p.accounted(handler))))
}

// tenant returns the tenant whose profiles a request sees.
func (p *pages) tenant(header http.Header) string {
	if p.cfg.Tenant.MetadataKey != "" {
		if tenant := header.Get(p.cfg.Tenant.Header); tenant != "" {
			return tenant
		}
	}
	return p.cfg.Tenant.Default
}

// serveFile answers with a file of the page.
func (p *pages) serveFile(w http.ResponseWriter, r *http.Request) error {
	name := cmp.Or(r.PathValue("name"), "index.html")
	body, err := page.Files.ReadFile(name)
	if err != nil {
		return fail(http.StatusNotFound, "there is no file %.40q", name)
	}
	if p.notModified(w, r) {
		return errNotModified
	}
	return write(w, r, mime.TypeByExtension(path.Ext(name)), body)
}

// serveInfo answers with what the page must know of the configuration.
func (p *pages) serveInfo(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, r, map[string]string{"trace_url": p.cfg.TraceURL})
}
