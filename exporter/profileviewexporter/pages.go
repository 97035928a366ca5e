// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"net/url"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// pages serves the HTTP requests.
type pages struct {
	cfg    *Config
	store  *store.Store
	budget *memory.Budget
	// hosts are the host names that requests may have. nil accepts every name.
	hosts map[string]bool
	// restored is closed when requests need not wait for the profiles of an earlier run any more.
	restored <-chan struct{}
	// working limits the number of requests that work. It has one element for each of them.
	working chan struct{}
	// wait is how long a request waits for that.
	wait time.Duration
	// requests limits the number of requests in progress. It has one element for each of them.
	requests chan struct{}
	// start is random. It makes the ETags of each run of the process different.
	start    [8]byte
	scrapers scrapers
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

// call is a request to a page or to Pyroscope's API.
type call struct {
	*pages
	tenant string
	// work counts the memory of the request.
	work *meter.Meter
}

// visit is a request to a page.
type visit struct {
	call
	request *http.Request
	// values are the parameters of the URL, and header is that of the answer.
	values url.Values
	header http.Header
	// written is called once the answer is written. It can be nil.
	written func()
}

// answer returns the body of an answer, and sets its headers.
type answer func(v *visit) ([]byte, error)
