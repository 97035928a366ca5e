// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/viewer"
)

// basePrefix begins the parameters of what a profile is compared with.
const basePrefix = "base_"

// routeViews adds the pages of google/pprof. They link to each other as neighbours, so they live below
// /view/{service}/{type}/, and the short paths lead there.
func (p *pages) routeViews(mux *http.ServeMux) {
	mux.Handle("GET /view/{service}/{type}/{page}", answering(p.serveView))
	for path, page := range map[string]string{"flamegraph": "flamegraph", "top": "top", "peek": "peek", "diff": "flamegraph"} {
		mux.Handle("GET /"+path+"/{service}/{type}", answering(func(w http.ResponseWriter, r *http.Request) error {
			if path == "diff" && !compares(r) {
				return fail(http.StatusBadRequest, "say what to compare with: base_service, base_type, base_from, base_until, base_window or base_resource.<key>")
			}
			// Relative, so that it holds below any prefix.
			target := "../../" + address("view", r.PathValue("service"), r.PathValue("type"), page)
			if r.URL.RawQuery != "" {
				target += "?" + r.URL.RawQuery
			}
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
			return nil
		}))
	}
}

// compares tells whether a request has a profile to compare with.
func compares(r *http.Request) bool {
	for name := range r.URL.Query() {
		if strings.HasPrefix(name, basePrefix) {
			return true
		}
	}
	return false
}

// serveView answers with a page about the merged profile, or about its difference to another.
func (p *pages) serveView(w http.ResponseWriter, r *http.Request) error {
	page := r.PathValue("page")
	if !slices.Contains(viewer.Pages, page) {
		return fail(http.StatusNotFound, "there is no page %.40q, only %s", page, strings.Join(viewer.Pages, ", "))
	}
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	var base []*recent.Entry
	if compares(r) {
		if base, err = p.chooseBase(w, r); err != nil {
			return err
		}
	}
	if p.unchanged(w, r, chosen, base) {
		return nil
	}
	body, err := p.inPlace(r, func() ([]byte, error) {
		shown, err := shownProfile(r, chosen, base)
		if err != nil {
			return nil, err
		}
		status, body, err := viewer.Render(r, shown, page)
		if err == nil && status != http.StatusOK {
			err = fail(status, "%s", body)
		}
		return body, err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", policyViewer)
	return write(w, r, "text/html; charset=utf-8", body)
}

// chooseBase selects what to compare with: the same service and type, unless parameters say otherwise.
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

func shownProfile(r *http.Request, chosen, base []*recent.Entry) (*profile.Profile, error) {
	shown, err := merge.Parsed(r.Context(), chosen)
	if err != nil {
		return nil, unmerged(err)
	}
	if base == nil {
		return shown, nil
	}
	compared, err := merge.Parsed(r.Context(), base)
	if err != nil {
		return nil, unmerged(err)
	}
	if shown, err = merge.Difference(shown, compared); err != nil {
		return nil, unmerged(err)
	}
	return shown, nil
}
