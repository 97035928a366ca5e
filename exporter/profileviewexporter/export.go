// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"errors"
	"net/http"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/export"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// sampleIndexParameter selects a sample type, as on the pages of google/pprof.
const sampleIndexParameter = "si"

// format is a format of downloads.
type format struct {
	contentType, file string
	parameters        []string
	// costs are the memory costs of writing a profile.
	costs pprofmerge.Costs
	write func(r *http.Request, p *profile.Profile, limits export.Limits) ([]byte, error)
}

var formats = map[string]format{
	"collapsed": {
		contentType: "text/plain; charset=utf-8", file: "profile.collapsed.txt",
		parameters: slices.Concat(chooseParameters, []string{sampleIndexParameter}), costs: merge.ReadCosts, write: collapsed,
	},
	"speedscope": {contentType: "application/json", file: "profile.speedscope.json", parameters: chooseParameters, costs: merge.ReadCosts, write: speedscope},
	"svg": {
		contentType: "image/svg+xml", file: "profile.svg",
		parameters: slices.Concat(chooseParameters, []string{sampleIndexParameter, layoutParameter}), costs: viewer.CostsOf("flamegraph"), write: svg,
	},
}

func collapsed(r *http.Request, p *profile.Profile, limits export.Limits) ([]byte, error) {
	index, err := p.SampleIndexByName(r.URL.Query().Get(sampleIndexParameter))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "%v", err)
	}
	return export.Collapsed(p, index, limits)
}

func speedscope(r *http.Request, p *profile.Profile, limits export.Limits) ([]byte, error) {
	return export.Speedscope(p, r.PathValue("service")+" "+r.PathValue("type"), limits)
}

// maxSVGBoxes limits the boxes of an image.
const maxSVGBoxes = 5000

func svg(r *http.Request, p *profile.Profile, limits export.Limits) ([]byte, error) {
	index, err := p.SampleIndexByName(r.URL.Query().Get(sampleIndexParameter))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "%v", err)
	}
	layout, err := layoutOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	t := p.SampleType[index]
	return export.Flamegraph(p, &export.SVG{
		Index: index, Boxes: maxSVGBoxes, RootBelow: layout == layoutFlame, Amount: func(v int64) string { return amount(v, t.Unit) },
		Title: r.PathValue("service") + " " + r.PathValue("type") + ", " + t.Type + ", " + timeText(r.URL.Query()),
	}, limits)
}

// serveExport answers with the merged profile in a format of another tool.
func (p *pages) serveExport(f format) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		r, held, err := p.selecting(r, f.parameters)
		if err != nil {
			return err
		}
		defer held.Release()
		chosen, err := p.choose(w, r, r.PathValue("type"), "")
		if err != nil {
			return err
		}
		if p.notModified(w, r, "", chosen) {
			return nil
		}
		return p.serveLimited(r, r.URL.Query(), func(work *merge.Work) ([]byte, error) {
			return p.exported(work, w, r, f, chosen)
		}, func(body []byte) error {
			w.Header().Set("Content-Disposition", `attachment; filename="`+f.file+`"`)
			return write(w, f.contentType, body)
		})
	}
}

// exported merges profiles within the limits of a page, and writes them.
func (p *pages) exported(work *merge.Work, w http.ResponseWriter, r *http.Request, f format, chosen []*recent.Entry) ([]byte, error) {
	shown, reduction, err := merge.View(work, chosen, nil, p.viewWithin(f.costs), leastWork, nil)
	if err != nil {
		return nil, mergeError(err)
	}
	p.notices(w.Header(), &reduction)
	viewer.NameFunctions(shown)
	viewer.Prune(shown)
	taken := work.Reservation.Bytes()
	body, err := f.write(r, shown, export.Limits{
		Bytes:   p.pageMemory(),
		Reserve: func(bytes int64) error { return work.Keep(taken + bytes) },
	})
	if errors.Is(err, export.ErrTooLarge) {
		return nil, fail(http.StatusUnprocessableEntity, "%v (max_page_memory): select a shorter time", err)
	}
	if err != nil {
		return nil, err
	}
	// Compressed data is at most as large as its source, plus the gzip header.
	if err := work.Keep(2*int64(cap(body)) + leastWork); err != nil {
		return nil, err
	}
	return encoded(w, r, body)
}
