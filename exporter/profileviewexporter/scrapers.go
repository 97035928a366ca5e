// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

const (
	// scraperParameter names who fetches, so that it gets each profile once.
	scraperParameter = "scraper"
	// maxScrapers bounds how many fetches are remembered, each for scraperMemory after its last one.
	maxScrapers   = 1000
	scraperMemory = 24 * time.Hour
)

// scrapers remember the newest profile that each scraper was given. Safe for concurrent use; the zero value is ready.
type scrapers struct {
	mu    sync.Mutex
	given map[scraperKey]given
	// from is the sequence of the newest profile of an earlier run. Who was given it is not known: nobody is given it again.
	from uint64
}

// scraperKey stands for a tenant, a path and all parameters, the name of the scraper among them.
type scraperKey [sha256.Size]byte

type given struct {
	sequence uint64
	at       time.Time
}

// scraperOf returns the key of a request, if that names a scraper.
func (p *pages) scraperOf(r *http.Request) (key scraperKey, named bool) {
	if r.URL.Query().Get(scraperParameter) == "" {
		return key, false
	}
	return sha256.Sum256([]byte(p.tenant(r) + "\x00" + r.URL.RequestURI())), true
}

// last returns the sequence that a scraper was given last, that of the earlier runs for a new one. It fails when no other one can be remembered.
func (s *scrapers) last(key scraperKey, now time.Time) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.given[key]
	if !found {
		known.sequence = s.from
	}
	if found || len(s.given) < maxScrapers {
		return known.sequence, nil
	}
	for old, g := range s.given {
		if now.Sub(g.at) >= scraperMemory {
			delete(s.given, old)
		}
	}
	if len(s.given) < maxScrapers {
		return known.sequence, nil
	}
	return 0, fail(http.StatusServiceUnavailable, "%d scrapers are remembered, there is no room for another one", maxScrapers)
}

// gave remembers what a scraper was given.
func (s *scrapers) gave(key scraperKey, entries []*recent.Entry, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.given[key].sequence
	for _, e := range entries {
		newest = max(newest, e.Sequence)
	}
	if s.given == nil {
		s.given = map[scraperKey]given{}
	}
	s.given[key] = given{newest, now}
}
