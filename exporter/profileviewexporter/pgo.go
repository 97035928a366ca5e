// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"
	"strconv"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
)

const (
	// defaultDepth is the default number of frames at the leaf of each stack. go build decides on inlining between a caller and
	// its callee.
	defaultDepth = 5
	maxDepth     = 1000
	// depthParameter changes that number.
	depthParameter = "depth"
	// maxPGOSize limits default.pgo, which is kept in repositories of source code.
	maxPGOSize = 4 << 20
)

// servePGO answers with a profile for go build -pgo.
func (p *pages) servePGO(w http.ResponseWriter, r *http.Request) error {
	r, held, err := p.selecting(r, pgoParameters)
	if err != nil {
		return err
	}
	defer held.Release()
	depth := defaultDepth
	if text := r.URL.Query().Get(depthParameter); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > maxDepth {
			return fail(http.StatusBadRequest, "depth must be from 1 to %d, not %.40q", maxDepth, text)
		}
		depth = number
	}
	chosen, err := p.choose(w, r, "", "")
	if err != nil {
		return err
	}
	if p.notModified(w, r, "", chosen) {
		return nil
	}
	return p.serveLimited(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
		shown, _, err := merge.View(work, chosen, nil, merge.PGOView(depth, p.pageMemory()), leastWork, nil)
		if err != nil {
			return nil, mergeError(err)
		}
		return merge.PGO(shown, maxPGOSize)
	}, func(body []byte) error {
		return writeProfile(w, "default.pgo", body)
	})
}
