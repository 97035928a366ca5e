// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// about is what the bar of a page tells about it. Links are relative to the page.
type about struct {
	Service, Type string
	// Time is which time was asked for, and Merged which profiles are of it.
	Time, Merged string
	// Far is how many of them say that they are of a time far from when they came.
	Far     int
	Types   []choice
	Presets []choice
	Refresh string
	// Compare leads to the difference to the time before CompareAge, and is empty where there is none.
	Compare, CompareAge string
	// Downloads are the same profile in formats of programs, Command is what go tool pprof is called with.
	Downloads []choice
	Command   string
	// Views are links to the pages about the same profile.
	Views []choice
	// Conditions are the attributes of the resources, and the labels of samples, that were chosen.
	Conditions []condition
	// Trace and Span are those whose samples alone are shown, TraceLink leads to the trace elsewhere, Whole to the profile of
	// all samples.
	Trace, Span, TraceLink, Whole string
	// Timeline shows when profiles were recorded.
	Timeline timeline
	// Base is what the profile is compared with, and Alone the link to it without that.
	Base, Alone string
}

// choice is a link among others. One without a link leads nowhere.
type choice struct {
	Name, Link string
	Current    bool
}

// maxTypes is how many types of a service the bar of a page has.
const maxTypes = 30

// aboutPage returns what the bar of a page says.
func (p *pages) aboutPage(r *http.Request, chosen, base []*recent.Entry) *about {
	values := r.URL.Query()
	a := &about{
		Service: r.PathValue("service"), Type: r.PathValue("type"),
		Time: timeText(values), Merged: mergedText(chosen), Refresh: "?" + values.Encode(),
	}
	for _, e := range chosen {
		if e.Far() {
			a.Far++
		}
	}
	a.Conditions = conditionsOf(values)
	a.offerViews(r, values)
	p.offerTypes(a, r, values)
	p.offerDownloads(a, r, values, chosen)
	p.offerTimes(a, r, values)
	p.tellTrace(a, values)
	a.Timeline = p.timelineOf(r, values, chosen)
	if len(base) > 0 {
		a.Base = baseText(r, values) + mergedText(base)
		a.Alone = "?" + withoutBase(values).Encode()
	}
	return a
}

// title is that of the page, which tabs and bookmarks show.
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

// baseText names what a profile is compared with, where that is of another service or type.
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

// offerTypes adds links to the same page of the other types of the service, for the same time and resources.
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

// offerTimes adds links to the presets of which there are profiles, and one that compares with the time before.
func (p *pages) offerTimes(a *about, r *http.Request, values url.Values) {
	current, isPreset := presetOf(values)
	attributes, _ := attributesOf(values, "") // They were read before.
	for _, offered := range presets {
		c := choice{Name: offered.name, Current: isPreset && offered.from == current.from}
		if p.holdsBetween(r, a, attributes, offered.age, 0) {
			c.Link = "?" + withTime(values, offered.from).Encode()
		}
		a.Presets = append(a.Presets, c)
	}
	for _, offered := range presets {
		wanted := !isPreset || current.age == 0 || current.from == offered.from
		if offered.age == 0 || !wanted || a.Compare != "" {
			continue
		}
		if p.holdsBetween(r, a, attributes, offered.age, 0) && p.holdsBetween(r, a, attributes, 2*offered.age, offered.age) {
			a.CompareAge = strings.TrimPrefix(offered.name, "last ")
			compared := withTime(withoutBase(values), offered.from)
			compared.Set(basePrefix+fromParameter, "-"+(2*offered.age).String())
			compared.Set(basePrefix+untilParameter, offered.from)
			for name, list := range values {
				if isKnown(name, []string{attributePrefix, labelPrefix}) {
					compared[basePrefix+name] = list // of the same resources and samples
				}
			}
			a.Compare = "?" + compared.Encode()
		}
	}
}

// holdsBetween tells whether there is a profile of a service and type that is not older than oldest and not younger than
// youngest. Without an age it is of any.
func (p *pages) holdsBetween(r *http.Request, a *about, attributes []selector.Selector, oldest, youngest time.Duration) bool {
	q := recent.Query{Tenant: p.tenant(r), Service: a.Service, Type: a.Type, Attributes: attributes}
	now := p.now()
	if oldest > 0 {
		q.From = recent.Bound{At: now.Add(-oldest), Relative: true}
	}
	if youngest > 0 {
		q.Until = recent.Bound{At: now.Add(-youngest), Relative: true}
	}
	entries, _ := p.store.Select(q)
	return len(entries) > 0
}

// offerViews adds links to all pages about the profile.
func (a *about) offerViews(r *http.Request, values url.Values) {
	query := ""
	if kept := onlyKnown(values); len(kept) > 0 {
		query = "?" + kept.Encode()
	}
	for _, page := range views {
		a.Views = append(a.Views, choice{Name: page.title, Link: page.name + query, Current: page.name == r.PathValue("page")})
	}
}

// withTime returns parameters with another time. What is compared with gets it too, unless that is another time of the
// same profile.
func withTime(values url.Values, from string) url.Values {
	changed := maps.Clone(values)
	for _, prefix := range []string{"", basePrefix} {
		for _, name := range timeParameters {
			changed.Del(prefix + name)
		}
	}
	if compares(changed) {
		changed.Set(basePrefix+fromParameter, from)
	}
	changed.Set(fromParameter, from)
	return changed
}

// withoutBase returns parameters without what is compared with.
func withoutBase(values url.Values) url.Values {
	changed := url.Values{}
	for name, list := range values {
		if !strings.HasPrefix(name, basePrefix) {
			changed[name] = list
		}
	}
	return changed
}

// digest is what an answer depends on beside its profiles and its URL.
func (a *about) digest() string { return fmt.Sprintf("%v", *a) }
