// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// profile answers with the merged profile of a service and type.
func (v *visit) profile() ([]byte, error) {
	v.attach(profileName, profileContent)
	return v.merged(0, gzipOf)
}

const (
	// defaultDepth is the default number of frames at the leaf of each stack. go build decides on inlining between a caller and
	// its callee.
	defaultDepth = 5
	maxDepth     = 1000
	pgoName      = "default.pgo"
	profileName  = "profile.pb.gz"
)

// pgo answers with a profile for go build -pgo.
func (v *visit) pgo() ([]byte, error) {
	depth := defaultDepth
	if text := v.values.Get(depthParameter); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > maxDepth {
			return nil, fail(http.StatusBadRequest, "depth must be from 1 to %d, not %.40q", maxDepth, text)
		}
		depth = number
	}
	v.attach(pgoName, profileContent)
	return v.merged(depth, (*merger).pgo)
}

// merged returns the merged profiles that the path and the parameters select, with a number of frames at the leaf, 0 for all.
func (v *visit) merged(frames int, write func(*merger) ([]byte, error)) ([]byte, error) {
	s, err := v.choose(v.request.PathValue("type"))
	if err != nil {
		return nil, err
	}
	scraper, named := v.scraper()
	if !named {
		if err := v.unlessKnown(s); err != nil {
			return nil, err
		}
	}
	body, err := v.mergedOf(s, frames, write)
	if named && v.request.Method == http.MethodGet {
		v.written = func() { v.scrapers.remember(scraper, s.profiles) }
		if errors.Is(err, errNoSamples) { // A scraper goes on after profiles without the samples that it wants.
			v.written()
		}
	}
	return body, err
}

// choose returns what the path and the parameters of a request select, at least one profile. Without a type, these are those of CPU time.
func (v *visit) choose(profileType string) (*selection, error) {
	filter, err := v.filterOf(v.values)
	if err != nil {
		return nil, err
	}
	// The name of a kind selects all its profiles, and another name those that were sent under it.
	kind := series.Kind(profileType)
	q := store.Query{Service: v.request.PathValue("service"), Kind: kind, Matches: func(one *store.Profile) bool {
		return (profileType != "" || one.CPU) && (profileType == kind || profileType == one.Type)
	}}
	if q.From, q.Until, err = bounds(v.values); err != nil {
		return nil, err
	}
	if q.Window, err = window(v.values); err != nil {
		return nil, err
	}
	received := false
	if scraper, named := v.scraper(); named {
		if q.After, received, err = v.scrapers.last(scraper); err != nil {
			return nil, err
		}
	}
	found, known, err := v.search(&q, filter)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 0:
		return v.selection(found, filter, "")
	case profileType == "":
		return nil, fail(http.StatusNotFound, "there is no CPU profile of the service %q in that time with these attributes, see the list at /profiles", q.Service)
	case !known:
		return nil, fail(http.StatusNotFound, "there is no profile of the service %q and type %q, see the list at /profiles", q.Service, profileType)
	case received:
		return nil, fail(http.StatusNotFound, "no profile of the service %q arrived since the last fetch", q.Service)
	}
	return nil, fail(http.StatusNotFound, "no profile of the service %q is of that time and has these attributes", q.Service)
}

// errNoSamples is the error for profiles without the samples that a request selects.
var errNoSamples = &failure{http.StatusNotFound, "none of these profiles has a sample of this trace or span with these labels"}

// mergedOf returns the merged samples of a selection, as write writes them. frames is the number of locations of each stack, 0 for all.
func (c *call) mergedOf(s *selection, frames int, write func(*merger) ([]byte, error)) ([]byte, error) {
	m, err := c.merge(s, frames)
	if err != nil {
		return nil, err
	}
	if len(m.samples.Rows) == 0 {
		return nil, errNoSamples
	}
	return write(m)
}

// gzipOf returns the merged samples in gzip.
func gzipOf(m *merger) ([]byte, error) {
	body, err := m.pprof()
	if err != nil {
		return nil, err
	}
	return compress(body)
}

// treeFormats are the formats that are made of a tree of functions.
var treeFormats = map[string]struct {
	name, contentType string
	write             func(t *tree, title, unit string) ([]byte, error)
}{
	"collapsed":  {"profile.collapsed.txt", "text/plain; charset=utf-8", func(t *tree, _, _ string) ([]byte, error) { return t.collapsed() }},
	"speedscope": {"profile.speedscope.json", "application/json", (*tree).speedscope},
	"svg":        {"profile.svg", "image/svg+xml", (*tree).svg},
}

// download answers with a file of what the parameters select.
func (v *visit) download() ([]byte, error) {
	name := v.request.PathValue("format")
	format, isTree := treeFormats[name]
	if !isTree && name != "pprof" && name != "pgo" {
		return nil, fail(http.StatusNotFound, "%.40q is not a format: these are pprof, collapsed, speedscope, svg and pgo", name)
	}
	s, err := v.selectBy(v.values)
	if err != nil {
		return nil, err
	}
	if len(s.profiles) == 0 {
		return nil, fail(http.StatusNotFound, "there is no profile of this type and time with these labels")
	}
	if err := v.unlessKnown(s); err != nil {
		return nil, err
	}
	switch name {
	case "pprof":
		v.attach(profileName, profileContent)
		return v.mergedOf(s, 0, gzipOf)
	case "pgo":
		v.attach(pgoName, profileContent)
		return v.mergedOf(s, defaultDepth, (*merger).pgo)
	}
	t, err := v.tree(s)
	if err != nil {
		return nil, err
	}
	v.attach(format.name, format.contentType)
	return format.write(t, strings.TrimSpace(v.values.Get(typeParameter)+" "+v.values.Get(queryParameter)), s.unit())
}

// seriesPerAnswer limits the series in one answer.
const seriesPerAnswer = 2000

// The memory to list a series: a fixed part, and a multiple of the length of its names and of the query, which are escaped in links.
const (
	seriesBytes = 4 << 10
	namesCost   = 64
	queryCost   = 48
)

// series returns the series that a filter and the parameters select. next is the query of the next part, if there is one.
func (v *visit) series(filter *filter) (found []store.Series, next string, err error) {
	q := store.Query{}
	if q.From, q.Until, err = bounds(v.values); err != nil {
		return nil, "", err
	}
	profiles, _, err := v.search(&q, filter)
	if err != nil {
		return nil, "", err
	}
	after := [2]string{v.values.Get(afterServiceParameter), v.values.Get(afterTypeParameter)}
	found, more := store.List(profiles, after, seriesPerAnswer)
	if more {
		last := found[len(found)-1]
		following := v.request.URL.Query()
		following.Set(afterServiceParameter, last.Service)
		following.Set(afterTypeParameter, last.Type)
		next = "?" + following.Encode()
	}
	bytes := int64(0)
	for _, s := range found {
		bytes += seriesBytes + namesCost*int64(len(s.Service)+len(s.Type)) + queryCost*int64(len(v.request.URL.RawQuery))
	}
	return found, next, v.work.Use(bytes)
}

// list answers with the list as JSON. The header Link has the URL of the next part.
func (v *visit) list() ([]byte, error) {
	filter, err := v.filterOf(v.values)
	if err != nil {
		return nil, err
	}
	found, next, err := v.series(filter)
	if err != nil {
		return nil, err
	}
	if next != "" {
		v.header.Set("Link", "<"+next+`>; rel="next"`)
	}
	return v.json(found)
}
