// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	_ "embed"
	"net/http"
)

var (
	// timelineScript has a pointer or the arrow keys choose a time.
	//go:embed timeline.js
	timelineScript []byte
	// flamegraphScript has keys reach the boxes of a flame graph, and joins it with the table beside it.
	//go:embed flamegraph.js
	flamegraphScript []byte
)

// serveScript answers with a script of the pages.
func (p *pages) serveScript(script []byte) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := checkParameters(r.URL.Query(), nil); err != nil {
			return err
		}
		if p.unchanged(w, r, "") {
			return nil
		}
		body, err := encoded(w, r, script)
		if err != nil {
			return err
		}
		return write(w, "text/javascript; charset=utf-8", body)
	}
}
