// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// listed is a series on the page.
type listed struct {
	recent.Series
	First bool // it is the first of its service
	More  bool // its service has more below
	Size  string
	Last  string
	Ago   string
	Spark string
	// The links are relative, so that they work with any prefix.
	Profile, Flamegraph, Top, Peek, PGO string
}

// listPage is the content of the list.
type listPage struct {
	Rows []listed
	// Time is the time of the list. Held is the number of profiles of all times, if the list is empty.
	Time    string
	Held    int
	Presets []choice
	// Columns are the headings, with links that sort.
	Columns []column
	Filter  filter
	// Shown describes a list that is cut. Searched is true if a filter is set, so that the list can be empty.
	Cut, Searched bool
	// Refresh links to the same page, All to all profiles, JSON to the list for programs, Next and First to other parts of a
	// long list.
	Refresh, All, JSON, Next, First string
}

func (p *pages) listPage(r *http.Request, values url.Values, part seriesPart, refresh time.Duration) *listPage {
	page := &listPage{
		Rows: p.rows(part.series, choosing(values)), Time: timeText(values), Next: part.next, Cut: part.isCut,
		Refresh: "?" + r.URL.RawQuery, All: "?" + withTime(values, allTimes).Encode(), JSON: "profiles?" + forJSON(values).Encode(),
	}
	page.Filter = p.filterOf(r, values, refresh)
	page.Columns = columnsOf(values)
	page.Searched = values.Get(searchParameter) != "" || wantsAny(values, attributePrefix)
	if len(part.series) == 0 {
		page.Held = p.store.HeldOf(p.tenant(r))
	}
	first := withoutParts(values)
	if len(first) < len(values) {
		page.First = "?" + first.Encode()
	}
	current, isPreset := presetOf(values)
	for _, offered := range presets {
		page.Presets = append(page.Presets, choice{
			Name: offered.name, Link: "?" + withTime(first, offered.from).Encode(), Current: isPreset && current.from == offered.from,
		})
	}
	return page
}

// forJSON returns the parameters of the list for programs: those that select and sort, without those of a part of the list.
func forJSON(values url.Values) url.Values {
	return only(withoutParts(values), func(name string) bool { return isKnown(name, listParameters) })
}

// rows returns the rows of the page. Their links select the same profiles as the list.
func (p *pages) rows(all []recent.Series, chosen url.Values) []listed {
	rows := make([]listed, len(all))
	query := "?" + chosen.Encode()
	for i, s := range all {
		rows[i] = listed{
			Series:     s,
			First:      i == 0 || all[i-1].Service != s.Service,
			More:       i+1 < len(all) && all[i+1].Service == s.Service,
			Size:       sizeText(s.Bytes),
			Last:       s.Last.UTC().Format(time.RFC3339),
			Ago:        agoText(p.now().Sub(s.Last)),
			Spark:      spark(&s.Arrivals),
			Profile:    address("profiles", s.Service, s.Type) + query,
			Flamegraph: address("view", s.Service, s.Type, "flamegraph") + query,
			Top:        address("view", s.Service, s.Type, "top") + query,
			Peek:       address("view", s.Service, s.Type, "peek") + query,
		}
		if s.PGO {
			rows[i].PGO = address("pgo", s.Service) + query
		}
	}
	return rows
}

func sizeText(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

func agoText(age time.Duration) string {
	switch {
	case age < 0:
		return "now"
	case age < time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(age.Hours()/24))
}
