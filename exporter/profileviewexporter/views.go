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

// plainPage is the page of google/pprof that works without JavaScript.
const plainPage = "peek"

// basePrefix is the prefix of the parameters that select the profile to compare with.
const basePrefix = "base_"

// routeViews adds the pages of google/pprof. They link to each other by relative names, so all are below
// /view/{service}/{type}/. The short paths redirect to them.
func (p *pages) routeViews(mux *http.ServeMux) {
	mux.Handle("GET /view/{service}/{type}/{page}", handle(p.serveView))
	for path, page := range map[string]string{"flamegraph": "flamegraph", "top": "top", "peek": "peek", "diff": "flamegraph"} {
		mux.Handle("GET /"+path+"/{service}/{type}", handle(func(w http.ResponseWriter, r *http.Request) error {
			if path == "diff" && !compares(r.URL.Query()) {
				return fail(http.StatusBadRequest, "select the profile to compare with, by base_service, base_type, base_from, base_until, base_window or base_resource.<key>")
			}
			// The path is relative, so that it works with any prefix.
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

// compares returns whether parameters select a profile to compare with.
func compares(values url.Values) bool {
	for name, list := range values {
		if strings.HasPrefix(name, basePrefix) && list[0] != "" {
			return true
		}
	}
	return false
}

// serveView answers with a page about the merged profile, or about its difference from another profile.
func (p *pages) serveView(w http.ResponseWriter, r *http.Request) error {
	page := r.PathValue("page")
	shown, err := viewOf(page)
	if err != nil {
		return err
	}
	r, held, err := p.selecting(r, shown.parameters)
	if err != nil {
		return err
	}
	defer held.Release()
	if err := viewer.CheckQuery(r.URL.Query()); err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	var base []*recent.Entry
	if page != groupsPage && compares(r.URL.Query()) {
		if base, err = p.chooseBase(w, r); err != nil {
			return err
		}
	}
	// This comes before notModified, since a browser replaces the headers of a cached page by the headers of a 304.
	w.Header().Set("Content-Security-Policy", shown.policy)
	// The bar is made before the request waits for its place, so its memory is reserved here.
	if err := held.Grow(r.Context(), held.Bytes()+barBytes(r)); err != nil {
		return err
	}
	all, err := p.allOf(r)
	if err != nil {
		return err
	}
	about := p.aboutPage(r, all, chosen, base)
	if p.notModified(w, r, about.digest(), chosen, base) {
		return nil
	}
	answer := newPageAnswer(w, r)
	defer answer.wait() // even if the page panics
	err = p.serveLimited(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
		rest, err := shown.draw(p, &drawing{work: work, w: w, r: r, about: about, chosen: chosen, base: base, answer: answer})
		if err != nil {
			return nil, err
		}
		return answer.encoded(rest)
	}, answer.write)
	return answer.end(err)
}

// The headers with the numbers of stacks that a page leaves out or shortens.
const (
	stacksLeftOutHeader = "X-Pprof-Stacks-Left-Out"
	stacksCutHeader     = "X-Pprof-Stacks-Cut"
)

// pageMemory returns the limit of memory to draw a page. It is at most half of the budget, so that merging has the rest.
func (p *pages) pageMemory() int64 { return min(p.cfg.MaxPageMemory, p.budget.Size()/2) }

// viewWithin returns the parts of a profile that are within the limits of a page, without labels.
func (p *pages) viewWithin(costs pprofmerge.Costs) *pprofmerge.View {
	return &pprofmerge.View{
		RootFrames: (p.cfg.MaxDepth + 1) / 2, LeafFrames: p.cfg.MaxDepth / 2,
		StringBytes: viewer.NameBytes, MaxCost: p.pageMemory(), Costs: costs, Remainder: true,
	}
}

// drawing is the state of a page that is being drawn.
type drawing struct {
	work         *merge.Work
	w            http.ResponseWriter
	r            *http.Request
	about        *about
	chosen, base []*recent.Entry
	answer       *pageAnswer
	// counts are the totals by label. notices are the sentences about parts that are missing or shortened.
	counts  merge.Counts
	notices []string
}

// countLimits limits the labels that a page offers.
var countLimits = pprofmerge.LabelLimits{Keys: 8, Values: 50, Text: 128}

// countsFor returns which counts the form of a page needs. The alternatives of a label are needed only if one is selected.
func countsFor(values url.Values) merge.Counts {
	return merge.Counts{
		SampleType: values.Get(sampleIndexParameter), Limits: countLimits, Alternatives: wantsAny(values, labelPrefix),
	}
}

// merged merges profiles, and leaves out the parts above the limits.
func (p *pages) merged(d *drawing, costs pprofmerge.Costs) (*profile.Profile, error) {
	d.counts = countsFor(d.r.URL.Query())
	view := p.viewWithin(costs)
	view.Labels = viewer.WantsLabels(d.r.URL.Query())
	shown, reduction, err := merge.View(d.work, d.chosen, d.base, view, viewer.PageBytes, &d.counts)
	if err != nil {
		return nil, mergeError(err)
	}
	if err := d.work.Context.Err(); err != nil {
		return nil, err
	}
	d.notices = p.notices(d.w.Header(), &reduction)
	if n, all := viewer.NameFunctions(shown), len(shown.Location); n > 0 {
		d.notices = append(d.notices, fmt.Sprintf("%d of %d locations have no symbols: they are shown as binary+0xaddress.", n, all))
	}
	viewer.Prune(shown)
	return shown, nil
}

// tally fills the counts of a page that draws no stacks.
func (p *pages) tally(d *drawing) error {
	if err := merge.Tally(d.work, d.chosen, &d.counts, viewer.PageBytes); err != nil {
		return mergeError(err)
	}
	d.notices = p.notices(d.w.Header(), &pprofmerge.Reduction{})
	return nil
}

// bar returns the HTML of the bar of a page.
func (p *pages) bar(d *drawing, above *bar) ([]byte, error) {
	above.about = d.about
	above.offerFilter(d.r, &d.counts)
	above.offerComparison(d.r.URL.Query())
	if n := d.about.Far; n > 0 {
		d.notices = append(d.notices, fmt.Sprintf("The times of %d of %d profiles are more than 10 minutes from their arrival. The links to other times use the arrival.", n, len(d.chosen)))
	}
	return above.html()
}

// drawGoogle draws a page of google/pprof. It returns the rest of the page after the beginning.
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
	if err := viewer.CheckWork(values, shown); err != nil {
		return nil, fail(http.StatusUnprocessableEntity, "%v", err)
	}
	isGraph := drawn == "flamegraph"
	above, layout := bar{Coloured: isGraph}, ""
	if len(d.base) > 0 {
		above.Legend = legendOf(shown, values.Get(sampleIndexParameter))
	}
	if page != plainPage {
		above.Plain = plainPage + d.about.Refresh
	}
	if isGraph {
		above.Table = "top" + d.about.Refresh
		if layout, err = layoutOf(values); err != nil {
			return nil, err
		}
		above.Layouts = layouts(values, layout)
	}
	if err := p.begin(d, drawn, layout, &above); err != nil {
		return nil, err
	}
	additions := viewer.Additions{Notice: strings.Join(d.notices, " ")}
	if page == besidePage {
		if additions.Beside, err = besideTable(d, shown); err != nil {
			return nil, err
		}
	}
	request := d.r.Clone(d.r.Context())
	request.URL.RawQuery = forGoogle(values).Encode()
	status, rest, err := viewer.Render(request, shown, drawn, additions, p.pageMemory()+viewer.PageBytes)
	if err == nil && status != http.StatusOK {
		err = fail(status, "%s", rest)
	}
	return rest, err
}

// notices returns sentences about the parts that a page leaves out, and sets the headers for them.
func (p *pages) notices(header http.Header, reduction *pprofmerge.Reduction) (notices []string) {
	if n := header.Get(leftOutHeader); n != "" {
		notices = append(notices, fmt.Sprintf("The %s oldest profiles are left out (max_request_size is %d bytes).", n, p.cfg.MaxRequestSize))
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
