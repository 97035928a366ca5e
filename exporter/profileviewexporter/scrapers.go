// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

const (
	// maxScrapers limits the number of scrapers. Each is remembered for scraperMemory after its last fetch.
	maxScrapers   = 1000
	scraperMemory = 24 * time.Hour
)

// scrapers remembers the newest profile that each scraper has received. It is safe for concurrent use. The zero value is ready
// for use.
type scrapers struct {
	mu    sync.Mutex
	given map[scraperKey]given
}

// scraperKey is a hash of a tenant, a path and all parameters, including the name of the scraper.
type scraperKey [sha256.Size]byte

type given struct {
	sequence uint64
	at       time.Time
}

// scraper returns the key of the scraper of a request, if the request names one.
func (v *visit) scraper() (key scraperKey, named bool) {
	if v.values.Get(scraperParameter) == "" {
		return key, false
	}
	return sha256.Sum256([]byte(v.tenant + "\x00" + v.request.URL.RequestURI())), true
}

// last returns the sequence that a scraper received last, and whether it has received any. A new scraper begins after the profiles of
// earlier runs, which it may have. It returns an error if there are too many scrapers.
func (s *scrapers) last(key scraperKey) (sequence uint64, received bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, found := s.given[key]; found {
		return known.sequence, true, nil
	}
	maps.DeleteFunc(s.given, func(_ scraperKey, g given) bool { return time.Since(g.at) >= scraperMemory })
	if len(s.given) >= maxScrapers {
		return 0, false, fail(http.StatusServiceUnavailable, "the limit of %d scrapers is reached", maxScrapers)
	}
	return store.FirstSequence, false, nil
}

// remember sets the newest profile that a scraper has received, and the time of its fetch.
func (s *scrapers) remember(key scraperKey, profiles []*store.Profile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.given[key].sequence
	for _, e := range profiles {
		newest = max(newest, e.Sequence)
	}
	if s.given == nil {
		s.given = map[scraperKey]given{}
	}
	s.given[key] = given{newest, time.Now()}
}
