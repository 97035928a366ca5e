// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	_ "embed"
	"net/http"
)

var (
	// timelineScript selects a time on the timeline with a pointer or the arrow keys.
	//go:embed timeline.js
	timelineScript []byte
	// flamegraphScript makes the boxes of a flame graph work with a keyboard, and connects them with the table beside it.
	//go:embed flamegraph.js
	flamegraphScript []byte
)

// serveScript answers with a script of the pages.
func (p *pages) serveScript(script []byte) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := checkParameters(r.URL.Query(), nil); err != nil {
			return err
		}
		if p.notModified(w, r, "") {
			return nil
		}
		body, err := encoded(w, r, script)
		if err != nil {
			return err
		}
		return write(w, "text/javascript; charset=utf-8", body)
	}
}
