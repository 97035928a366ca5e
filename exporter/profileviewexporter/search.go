// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// search returns the profiles that a query selects. known is true if there are profiles of the service and type.
func (p *pages) search(r *http.Request, q recent.Query) (entries []*recent.Entry, known bool, err error) {
	release, err := p.acquireFor(r, q.Attributes)
	if err != nil {
		return nil, false, err
	}
	defer release()
	return p.store.Search(r.Context(), q)
}

// allOf returns the profiles of the page and its resources, of all times.
func (p *pages) allOf(r *http.Request) ([]*recent.Entry, error) {
	all, _, err := p.search(r, recent.Query{
		Tenant: p.tenant(r), Service: r.PathValue("service"), Type: r.PathValue("type"), Attributes: attributesOf(r, ""),
	})
	return all, err
}

// acquireFor is acquire for a search by attributes. A search without regular expressions is cheap, and counts not towards
// max_concurrent_requests.
func (p *pages) acquireFor(r *http.Request, attributes []selector.Selector) (release func(), err error) {
	if expressionBytes(attributes) == 0 {
		return func() {}, nil
	}
	return p.acquire(r)
}
