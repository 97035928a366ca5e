// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// plainPage is the page that needs no JavaScript.
const plainPage = "peek"

// basePrefix begins the parameters of what a profile is compared with.
const basePrefix = "base_"

// routeViews adds the pages of google/pprof. They link to each other as neighbours, so they live below
// /view/{service}/{type}/, and the short paths lead there.
func (p *pages) routeViews(mux *http.ServeMux) {
	mux.Handle("GET /view/{service}/{type}/{page}", answering(p.serveView))
	for path, page := range map[string]string{"flamegraph": "flamegraph", "top": "top", "peek": "peek", "diff": "flamegraph"} {
		mux.Handle("GET /"+path+"/{service}/{type}", answering(func(w http.ResponseWriter, r *http.Request) error {
			if path == "diff" && !compares(r.URL.Query()) {
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

// compares tells whether parameters name a profile to compare with.
func compares(values url.Values) bool {
	for name, list := range values {
		if strings.HasPrefix(name, basePrefix) && list[0] != "" {
			return true
		}
	}
	return false
}

// serveView answers with a page about the merged profile, or about its difference to another.
func (p *pages) serveView(w http.ResponseWriter, r *http.Request) error {
	page := r.PathValue("page")
	shown, err := viewOf(page)
	if err != nil {
		return err
	}
	if err := checkParameters(r.URL.Query(), shown.parameters); err != nil {
		return err
	}
	if err := viewer.CheckQuery(r.URL.Query()); err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	var base []*recent.Entry
	if compares(r.URL.Query()) {
		if base, err = p.chooseBase(w, r); err != nil {
			return err
		}
	}
	// Before unchanged: a browser takes the headers of an answer 304 for those of the page that it has.
	w.Header().Set("Content-Security-Policy", shown.policy)
	about := p.aboutPage(r, chosen, base)
	if p.unchanged(w, r, about.digest(), chosen, base) {
		return nil
	}
	return p.inPlace(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
		body, err := shown.draw(p, &drawing{work: work, w: w, r: r, about: about, chosen: chosen, base: base})
		if err != nil {
			return nil, err
		}
		return encoded(w, r, body)
	}, func(body []byte) error {
		return write(w, "text/html; charset=utf-8", body)
	})
}

// The headers that tell what a page leaves out.
const (
	stacksLeftOutHeader = "X-Pprof-Stacks-Left-Out"
	stacksCutHeader     = "X-Pprof-Stacks-Cut"
)

// pageMemory is what drawing a page may take: half of the budget leaves room for what is merged.
func (p *pages) pageMemory() int64 { return min(p.cfg.MaxPageMemory, p.budget.Size()/2) }

// drawing is a page that is being made.
type drawing struct {
	work         *merge.Work
	w            http.ResponseWriter
	r            *http.Request
	about        *about
	chosen, base []*recent.Entry
	// counts are those of the samples, and notices what is to be said of the page.
	counts  merge.Counts
	notices []string
}

// countLimits bound the labels that a page offers.
var countLimits = pprofmerge.LabelLimits{Keys: 8, Values: 50, Text: 128}

// countsFor are the counts of what a page offers. What else there is of a label matters where one is chosen.
func countsFor(values url.Values) merge.Counts {
	return merge.Counts{
		SampleType: values.Get(sampleIndexParameter), Limits: countLimits, Alternatives: wantsAny(values, labelPrefix),
	}
}

// merged merges profiles, and leaves out what is above the limits.
func (p *pages) merged(d *drawing, costs pprofmerge.Costs) (*profile.Profile, error) {
	d.counts = countsFor(d.r.URL.Query())
	shown, reduction, err := merge.View(d.work, d.chosen, d.base, &pprofmerge.View{
		RootFrames: (p.cfg.MaxDepth + 1) / 2, LeafFrames: p.cfg.MaxDepth / 2,
		Labels:      viewer.WantsLabels(d.r.URL.Query()),
		StringBytes: viewer.NameBytes,
		MaxCost:     p.pageMemory(), Costs: costs,
		Remainder: true,
	}, viewer.PageBytes, &d.counts)
	if err != nil {
		return nil, unmerged(err)
	}
	if err := d.work.Context.Err(); err != nil {
		return nil, err
	}
	d.notices = p.notices(d.w.Header(), &reduction)
	if n, all := viewer.NameFunctions(shown), len(shown.Location); n > 0 {
		d.notices = append(d.notices, fmt.Sprintf("%d of %d locations have no symbols: they are shown as binary+0xaddress.", n, all))
	}
	return shown, nil
}

// bar returns what stands above a page.
func (p *pages) bar(d *drawing, above *bar) ([]byte, error) {
	above.about = d.about
	p.offerFilter(above, d.r, &d.counts)
	above.offerComparison(d.r.URL.Query())
	if n := d.about.Far; n > 0 {
		d.notices = append(d.notices, fmt.Sprintf("%d of %d profiles say that they are of a time far from when they came; presets go by when they came.", n, len(d.chosen)))
	}
	return above.html()
}

// drawGoogle draws a page of google/pprof.
func (p *pages) drawGoogle(d *drawing) ([]byte, error) {
	page, values := d.r.PathValue("page"), d.r.URL.Query()
	drawn := page
	if page == besidePage {
		drawn = "flamegraph"
	}
	shown, err := p.merged(d, viewer.CostsOf(page))
	if err != nil {
		return nil, err
	}
	isGraph := drawn == "flamegraph"
	above, additions := bar{Coloured: isGraph}, viewer.Additions{Title: d.about.title()}
	if len(d.base) > 0 {
		above.Legend = legendOf(shown, values.Get(sampleIndexParameter))
	}
	if page != plainPage {
		above.Plain = plainPage + d.about.Refresh
	}
	if isGraph {
		above.Table = "top" + d.about.Refresh
		if additions.Layout, err = layoutOf(values); err != nil {
			return nil, err
		}
		above.Layouts = layouts(values, additions.Layout)
	}
	if page == besidePage {
		if additions.Beside, err = besides(d, shown); err != nil {
			return nil, err
		}
	}
	if additions.Bar, err = p.bar(d, &above); err != nil {
		return nil, err
	}
	additions.Notice = strings.Join(d.notices, " ")
	request := d.r.Clone(d.r.Context())
	request.URL.RawQuery = forGoogle(values).Encode()
	status, body, err := viewer.Render(request, shown, drawn, additions, p.pageMemory()+viewer.PageBytes)
	if err == nil && status != http.StatusOK {
		err = fail(status, "%s", body)
	}
	return body, err
}

// notices tell on a page, and in the headers, what it leaves out.
func (p *pages) notices(header http.Header, reduction *pprofmerge.Reduction) (notices []string) {
	if n := header.Get(leftOutHeader); n != "" {
		notices = append(notices, fmt.Sprintf("The %s oldest profiles are not on this page (max_request_size is %d bytes).", n, p.cfg.MaxRequestSize))
	}
	if n := reduction.LeftOut; n > 0 {
		header.Set(stacksLeftOutHeader, strconv.Itoa(n))
		notices = append(notices, fmt.Sprintf("The lightest %d of %d stacks are drawn as one, %s (max_page_memory is %d bytes).",
			n, reduction.Stacks, pprofmerge.OtherFunction, p.pageMemory()))
	}
	if n := reduction.Deep; n > 0 {
		header.Set(stacksCutHeader, strconv.Itoa(n))
		notices = append(notices, fmt.Sprintf("The middle of %d stacks is drawn as one frame, %s (max_depth is %d).",
			n, pprofmerge.GapFunction, p.cfg.MaxDepth))
	}
	return notices
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
