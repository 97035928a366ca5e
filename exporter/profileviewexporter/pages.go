// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
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
		working: make(chan struct{}, cfg.MaxConcurrentRequests), requests: make(chan struct{}, maxRequests),
	}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// handler returns the routes. No request opens a file or starts a program, and only scrapers keep state.
func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]answer{
		"/{$}":                       (*visit).file,
		"/static/{name}":             (*visit).file,
		"/info":                      (*visit).info,
		"/profiles":                  working(listParameters, (*visit).list),
		"/profiles/{service}/{type}": working(profileParameters, (*visit).profile),
		"/pgo/{service}":             working(pgoParameters, (*visit).pgo),
		"/functions":                 working(functionsParameters, (*visit).functions),
		"/download/{format}":         working(selectionParameters, (*visit).download),
		"/plain":                     working(plainListParameters, (*visit).plainList),
		"/plain/functions":           working(selectionParameters, (*visit).plainFunctions),
	} {
		mux.Handle("GET "+path, p.handle(answer))
	}
	p.handleAPI(mux)
	handler := http.Handler(mux)
	if p.cfg.PathPrefix != "" {
		handler = http.StripPrefix(p.cfg.PathPrefix, mux)
	}
	return p.admitted(handler)
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
