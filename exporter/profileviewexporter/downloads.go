// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// offerDownloads adds links to the profile in other formats, and the command of go tool pprof that fetches it.
func (p *pages) offerDownloads(a *about, r *http.Request, values url.Values, chosen []*recent.Entry) {
	kept := choosing(values)
	query := ""
	if len(kept) > 0 {
		query = "?" + kept.Encode()
	}
	own := query
	if index := values.Get(sampleIndexParameter); index != "" {
		kept.Set(sampleIndexParameter, index)
		own = "?" + kept.Encode()
	}
	image := own
	if layout := values.Get(layoutParameter); layout != "" {
		kept.Set(layoutParameter, layout)
		image = "?" + kept.Encode()
	}
	const root = "../../../"
	a.Downloads = []choice{
		{Name: "pprof", Link: root + address("profiles", a.Service, a.Type) + query},
		{Name: "collapsed", Link: root + address("collapsed", a.Service, a.Type) + own},
		{Name: "SVG", Link: root + address("svg", a.Service, a.Type) + image},
		{Name: "speedscope", Link: root + address("speedscope", a.Service, a.Type) + query},
	}
	if slices.ContainsFunc(chosen, func(e *recent.Entry) bool { return e.PGO }) {
		a.Downloads = append(a.Downloads, choice{Name: "PGO", Link: root + address("pgo", a.Service) + query})
	}
	if plainHost.MatchString(r.Host) {
		scheme := "http"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		// An escaped URL contains no single quote.
		a.Command = "go tool pprof '" + scheme + "://" + r.Host + p.cfg.PathPrefix + "/" + address("profiles", a.Service, a.Type) + query + "'"
	}
}

// plainHost matches hosts that a shell does not interpret.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9.:_\[\]-]+$`)
