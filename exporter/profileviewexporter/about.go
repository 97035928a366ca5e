// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// about is the content of the bar of a page. Links are relative to the page.
type about struct {
	Page, Service, Type string
	// Time is the requested time. Merged describes the merged profiles and their time.
	Time, Merged string
	// Far is the number of merged profiles whose time is far from their arrival.
	Far     int
	Types   []choice
	Presets []choice
	Refresh string
	// Compare links to the difference from the time before CompareAge. It is empty if there is none.
	Compare, CompareAge string
	// Downloads are links to the profile in other formats. Command is the command of go tool pprof for it.
	Downloads []choice
	Command   string
	// Views are links to the other pages of the profile.
	Views []choice
	// Conditions are the selected resource attributes and sample labels.
	Conditions []condition
	// Trace and Span are set if only their samples are shown. TraceLink links to the trace in another system, Whole to the
	// profile with all samples.
	Trace, Span, TraceLink, Whole string
	// Timeline shows when the profiles were recorded.
	Timeline timeline
	// Resources are the attributes of the profiles of the requested time, with all their values.
	Resources []recent.Facet
	// Base describes the profile to compare with. Alone links to the page without the comparison.
	Base, Alone string
}

// choice is one of several links. An empty link is not shown as a link.
type choice struct {
	Name, Link string
	Current    bool
}

// maxTypes limits the types of a service in the bar.
const maxTypes = 30

// aboutPage returns the content of the bar of a page. all are the profiles of all times.
func (p *pages) aboutPage(r *http.Request, all, chosen, base []*recent.Entry) *about {
	values := r.URL.Query()
	a := &about{
		Page: r.PathValue("page"), Service: r.PathValue("service"), Type: r.PathValue("type"),
		Time: timeText(values), Merged: mergedText(chosen), Refresh: "?" + values.Encode(),
	}
	for _, e := range chosen {
		if e.Far() {
			a.Far++
		}
	}
	a.Conditions = conditionsOf(values)
	a.Resources = p.resourcesOf(r)
	a.offerViews(r, values)
	p.offerTypes(a, r, values)
	p.offerDownloads(a, r, values, chosen)
	p.offerTimes(a, all, values)
	p.addTrace(a, values)
	a.Timeline = timelineOf(r, values, all, chosen)
	if len(base) > 0 {
		a.Base = baseText(r, values) + mergedText(base)
		a.Alone = "?" + withoutBase(values).Encode()
	}
	return a
}

// title returns the title of the page, which browsers show in tabs and bookmarks.
func (a *about) title() string {
	text := a.Service + " " + a.Type + ", " + a.Time
	if a.Trace != "" {
		text += ", trace " + a.Trace
	}
	if a.Span != "" {
		text += ", span " + a.Span
	}
	if a.Base != "" {
		text = "Difference: " + text
	}
	return text + " – profiles"
}

// baseText returns the service and type to compare with, if they are not those of the page.
func baseText(r *http.Request, values url.Values) string {
	service, profileType := values.Get(basePrefix+"service"), values.Get(basePrefix+"type")
	var names []string
	if service != "" && service != r.PathValue("service") {
		names = append(names, service)
	}
	if profileType != "" && profileType != r.PathValue("type") {
		names = append(names, profileType)
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, " ") + ": "
}

// offerTypes adds links to the same page for the other types of the service, with the same time and resources.
func (p *pages) offerTypes(a *about, r *http.Request, values url.Values) {
	query, kept := "", choosing(values)
	if layout := values.Get(layoutParameter); layout != "" {
		kept.Set(layoutParameter, layout)
	}
	if len(kept) > 0 {
		query = "?" + kept.Encode()
	}
	for _, name := range p.store.Types(p.tenant(r), a.Service, maxTypes) {
		a.Types = append(a.Types, choice{
			Name: name, Current: name == a.Type,
			Link: "../" + address(name, r.PathValue("page")) + query,
		})
	}
}

// offerTimes adds links to the presets that have profiles, and a link to the difference from the time before.
func (p *pages) offerTimes(a *about, all []*recent.Entry, values url.Values) {
	current, isPreset := presetOf(values)
	for _, offered := range presets {
		c := choice{Name: offered.name, Current: isPreset && offered.from == current.from}
		if p.anyBetween(all, offered.age, 0) {
			c.Link = "?" + withTime(values, offered.from).Encode()
		}
		a.Presets = append(a.Presets, c)
	}
	for _, offered := range presets {
		wanted := !isPreset || current.age == 0 || current.from == offered.from
		if offered.age == 0 || !wanted || a.Compare != "" {
			continue
		}
		if p.anyBetween(all, offered.age, 0) && p.anyBetween(all, 2*offered.age, offered.age) {
			a.CompareAge = strings.TrimPrefix(offered.name, "last ")
			compared := withTime(withoutBase(values), offered.from)
			compared.Set(basePrefix+fromParameter, "-"+(2*offered.age).String())
			compared.Set(basePrefix+untilParameter, offered.from)
			for name, list := range values {
				if isKnown(name, []string{attributePrefix, labelPrefix}) {
					compared[basePrefix+name] = list // the same resources and samples
				}
			}
			a.Compare = a.comparisonLink(compared)
		}
	}
}

// anyBetween returns whether a profile has an age between youngest and oldest. 0 means without a bound.
func (p *pages) anyBetween(all []*recent.Entry, oldest, youngest time.Duration) bool {
	var from, until recent.Bound
	now := p.now()
	if oldest > 0 {
		from = recent.Bound{At: now.Add(-oldest), Relative: true}
	}
	if youngest > 0 {
		until = recent.Bound{At: now.Add(-youngest), Relative: true}
	}
	return recent.AnyBetween(all, from, until)
}

// offerViews adds links to all pages of the profile.
func (a *about) offerViews(r *http.Request, values url.Values) {
	query := ""
	if kept := onlyKnown(values); len(kept) > 0 {
		query = "?" + kept.Encode()
	}
	for _, page := range views {
		a.Views = append(a.Views, choice{Name: page.title, Link: page.name + query, Current: page.name == r.PathValue("page")})
	}
}

// withTime returns parameters with another time. The profile to compare with gets it too, unless it is the same profile at
// another time.
func withTime(values url.Values, from string) url.Values {
	changed := maps.Clone(values)
	for _, prefix := range []string{"", basePrefix} {
		for _, name := range timeParameters {
			changed.Del(prefix + name)
		}
	}
	if comparesOther(changed) {
		changed.Set(basePrefix+fromParameter, from)
	} else {
		changed = withoutBase(changed)
	}
	changed.Set(fromParameter, from)
	return changed
}

// comparesOther returns whether parameters without times select another profile to compare with: another service or type, or other
// resources or labels.
func comparesOther(values url.Values) bool {
	if !compares(values) {
		return false
	}
	given := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(values[name]), func(value string) bool { return value == "" })
	}
	for name := range values {
		own := strings.TrimPrefix(name, basePrefix)
		if isKnown(basePrefix+own, baseParameters) && !slices.Equal(given(own), given(basePrefix+own)) {
			return true
		}
	}
	return false
}

// withoutBase returns parameters without the profile to compare with.
func withoutBase(values url.Values) url.Values {
	return only(values, func(name string) bool { return !strings.HasPrefix(name, basePrefix) })
}

// digest returns the content of the bar as a text for the ETag.
func (a *about) digest() string { return fmt.Sprintf("%v", *a) }
