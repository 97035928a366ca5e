// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"crypto/rand"
	"net/http"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory"
)

func newPages(cfg *Config, store *store.Store, bytes *memory.Budget) *pages {
	p := &pages{
		cfg: cfg, store: store, budget: bytes, wait: concurrencyWait,
		working: make(chan struct{}, cfg.MaxConcurrentRequests), requests: make(chan struct{}, maxRequests),
	}
	restored := make(chan struct{})
	close(restored)
	p.restored = restored
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
	if prefix := p.cfg.PathPrefix; prefix != "" {
		outer := http.NewServeMux() // It leads from the prefix alone to the one with a slash.
		outer.Handle(prefix+"/", http.StripPrefix(prefix, mux))
		handler = outer
	}
	return p.admitted(handler)
}

// working returns an answer for which a request works. It refuses other parameters than the known ones, since the answer would not be what
// the client asked for. Writing the answer is outside of the limit of concurrent requests, since a client can be slow.
func working(known []string, answer answer) answer {
	return func(v *visit) ([]byte, error) {
		if err := checkParameters(v.values, known); err != nil {
			return nil, err
		}
		work, end, err := v.begin(v.request)
		if err != nil {
			return nil, err
		}
		defer end()
		v.work = work
		return answer(v)
	}
}
