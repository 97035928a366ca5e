// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// choose returns the profiles that the parameters of a request with a prefix select, at least one, within max_request_size.
func (p *pages) choose(w http.ResponseWriter, r *http.Request, profileType, prefix string) ([]*recent.Entry, error) {
	query, err := p.query(r, profileType, prefix)
	if err != nil {
		return nil, err
	}
	entries, known, err := p.search(r, query)
	switch {
	case err != nil:
		return nil, err
	case !known && profileType == "":
		return nil, fail(http.StatusNotFound, "there is no CPU profile of the service %q, see the list at /profiles", query.Service)
	case !known:
		return nil, fail(http.StatusNotFound, "there is no profile of the service %q and type %q, see the list at /profiles", query.Service, profileType)
	case len(entries) == 0 && query.After > 0:
		return nil, fail(http.StatusNotFound, "no profile of the service %q arrived since the last fetch", query.Service)
	case len(entries) == 0:
		return nil, fail(http.StatusNotFound, "no profile of the service %q is of that time and has these attributes", query.Service)
	}
	return p.within(w, r, &query, entries)
}

// chooseBase selects the profiles to compare with. The service and type are the same unless parameters change them.
func (p *pages) chooseBase(w http.ResponseWriter, r *http.Request) ([]*recent.Entry, error) {
	values := r.URL.Query()
	other := r.Clone(r.Context())
	if service := values.Get(basePrefix + "service"); service != "" {
		other.SetPathValue("service", service)
	}
	profileType := r.PathValue("type")
	if given := values.Get(basePrefix + "type"); given != "" {
		profileType = given
	}
	return p.choose(w, other, profileType, basePrefix)
}

// within returns the newest entries that fit into max_request_size, and adds the number of the others to the header. A scraper gets the
// oldest that fit, so that its next fetch gets the others.
func (p *pages) within(w http.ResponseWriter, r *http.Request, query *recent.Query, entries []*recent.Entry) ([]*recent.Entry, error) {
	_, scraped := p.scraperOf(r)
	kept, size := 0, int64(0)
	for kept < len(entries) {
		next := entries[len(entries)-1-kept]
		if scraped {
			next = entries[kept]
		}
		if size += int64(next.Inflated); size > p.cfg.MaxRequestSize {
			break
		}
		kept++
	}
	leftOut := len(entries) - kept
	switch {
	case leftOut == 0:
		return entries, nil
	case query.Bounded() && !scraped:
		return nil, fail(http.StatusUnprocessableEntity,
			"the %d profiles of that time have more than max_request_size, %d bytes, without compression: select a shorter time", len(entries), p.cfg.MaxRequestSize)
	}
	others, _ := strconv.Atoi(w.Header().Get(leftOutHeader)) // of the other side of a comparison
	w.Header().Set(leftOutHeader, strconv.Itoa(others+leftOut))
	if scraped {
		return entries[:kept], nil
	}
	return entries[leftOut:], nil
}

// notModified answers 304 and returns true if the client has the answer already. The answer depends on the profiles, the URL and
// the bar.
func (p *pages) notModified(w http.ResponseWriter, r *http.Request, surroundings string, sets ...[]*recent.Entry) bool {
	digest := sha256.New()
	_, _ = digest.Write(p.start[:])
	_, _ = digest.Write([]byte(r.URL.RequestURI() + "\x00" + surroundings + "\x00"))
	for _, entries := range sets {
		for _, e := range entries {
			_, _ = fmt.Fprintf(digest, "%d,", e.Sequence)
		}
		_, _ = digest.Write([]byte{0})
	}
	tag := `"` + hex.EncodeToString(digest.Sum(nil)[:16]) + `"`
	w.Header().Set("ETag", tag)
	for candidate := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}
