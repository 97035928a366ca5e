// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// choose returns the profiles that the parameters of a request with a prefix select, at least one. Without a time, it returns
// the newest profiles within max_request_size.
func (p *pages) choose(w http.ResponseWriter, r *http.Request, profileType, prefix string) ([]*recent.Entry, error) {
	query, err := p.query(r, profileType, prefix)
	if err != nil {
		return nil, err
	}
	entries, known := p.store.Select(query)
	switch {
	case !known && profileType == "":
		return nil, fail(http.StatusNotFound, "there is no CPU profile of the service %q, see the list at /profiles", query.Service)
	case !known:
		return nil, fail(http.StatusNotFound, "there is no profile of the service %q and type %q, see the list at /profiles", query.Service, profileType)
	case len(entries) == 0 && query.After > 0:
		return nil, fail(http.StatusNotFound, "no profile of the service %q arrived since the last fetch", query.Service)
	case len(entries) == 0:
		return nil, fail(http.StatusNotFound, "no profile of the service %q is of that time and has these attributes", query.Service)
	}
	size := int64(0)
	for i, e := range slices.Backward(entries) {
		if size += int64(e.Inflated); size <= p.cfg.MaxRequestSize {
			continue
		}
		if query.Bounded() {
			return nil, fail(http.StatusUnprocessableEntity,
				"the %d profiles of that time have more than max_request_size, %d bytes, without compression: select a shorter time", len(entries), p.cfg.MaxRequestSize)
		}
		w.Header().Set(leftOutHeader, strconv.Itoa(i+1))
		return entries[i+1:], nil
	}
	return entries, nil
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
