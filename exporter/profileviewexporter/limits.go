// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"net/http"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
)

const (
	// maxRequests limits the requests in progress, including those that wait. maxStreams limits those of one connection with
	// HTTP/2.
	maxRequests = 500
	maxStreams  = 20
)

// limited refuses requests above maxRequests at once.
func (p *pages) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.requests <- struct{}{}:
			defer func() { <-p.requests }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("the limit of %d requests in progress is reached, try again", maxRequests), http.StatusServiceUnavailable)
		}
	})
}

// barQueryCost is the memory of the links of a bar for each byte of the query, which they repeat. There are up to 200 links: those of
// conditions, of the timeline, and to types, times, pages and downloads. Escaping makes a byte up to three bytes long in a link, and up to
// five on the page.
const barQueryCost = 200 * (3 + 5)

// barBytes returns the memory of the links of a bar.
func barBytes(r *http.Request) int64 { return barQueryCost * int64(len(r.URL.RawQuery)) }

// linkQueryCost is the memory of a link on a page for each byte of the query: the escaped link, its place on the page, and the growth of
// the page.
const linkQueryCost = 16

// reserveLinks reserves memory for links that repeat the query of a request.
func reserveLinks(work *merge.Work, r *http.Request, links int) error {
	bytes := linkQueryCost * int64(links) * int64(len(r.URL.RawQuery))
	return work.Reservation.Grow(work.Context, work.Reservation.Bytes()+bytes)
}
