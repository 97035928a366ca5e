// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/querier"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// pages serves the HTTP requests.
type pages struct {
	cfg    *Config
	store  *store.Store
	budget *memory.Budget
	// hosts are the host names that requests may have. nil accepts every name.
	hosts map[string]bool
	// working limits the number of requests that work. It has one element for each of them.
	working chan struct{}
	// requests limits the number of requests in progress. It has one element for each of them.
	requests chan struct{}
	// start is random. It makes the ETags of each run of the process different.
	start    [8]byte
	scrapers scrapers
	now      func() time.Time
}

func newPages(cfg *Config, store *store.Store, bytes *memory.Budget) *pages {
	p := &pages{
		cfg: cfg, store: store, budget: bytes, now: time.Now,
		working: make(chan struct{}, cfg.MaxConcurrentRequests), requests: make(chan struct{}, maxRequests),
	}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// handler returns the routes. No request opens a file or starts a program, and only scrapers keep state.
func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	for path, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
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
	files := withHeaders(page.Handler())
	mux.Handle("GET /{$}", files)
	mux.Handle("GET /static/", files)
	api := &querier.Server{
		Store: p.store, Tenant: p.tenant, TraceLabel: p.cfg.Encoding.LinkLabels.Trace, SpanLabel: p.cfg.Encoding.LinkLabels.Span,
		Begin: p.begin, Code: codeOf,
	}
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

// serveInfo answers with what the page must know of the configuration.
func (p *pages) serveInfo(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, r, map[string]any{"trace_url": p.cfg.TraceURL, "max_nodes": tree.MaxNodes, "now": p.now().UnixMilli()})
}
