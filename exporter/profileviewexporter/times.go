// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// preset is a time range that pages offer.
type preset struct {
	name string
	// from is the value of the parameter, and age the duration before now. 0 means all profiles in memory.
	from string
	age  time.Duration
}

var presets = []preset{
	{"last 5 min", "-5m", 5 * time.Minute},
	{"last 15 min", "-15m", 15 * time.Minute},
	{"last hour", "-1h", time.Hour},
	{"all", allTimes, 0},
}

// listedTime is the default time range of the list.
const listedTime = "-15m"

// presetOf returns the preset that the parameters select, if they select one.
func presetOf(values url.Values) (named preset, found bool) {
	if values.Get(untilParameter) != "" || values.Get(windowParameter) != "" || values.Get(secondsParameter) != "" {
		return preset{}, false
	}
	from := values.Get(fromParameter)
	if from != "now" {
		from = strings.TrimPrefix(from, "now")
	}
	for _, p := range presets {
		if p.from == from || p.age == 0 && from == "" {
			return p, true
		}
	}
	return preset{}, false
}

// timeText describes the time range that the parameters select.
func timeText(values url.Values) string {
	if named, found := presetOf(values); found {
		return named.name
	}
	var parts []string
	for _, name := range timeParameters {
		if text := values.Get(name); text != "" {
			parts = append(parts, name+" "+text)
		}
	}
	return strings.Join(parts, " ")
}

// mergedText describes the number of merged profiles and their time.
func mergedText(entries []*recent.Entry) string {
	if len(entries) == 0 {
		return "no profiles"
	}
	begin, end := spanOf(entries)
	number := "1 profile"
	if len(entries) > 1 {
		number = fmt.Sprintf("%d profiles", len(entries))
	}
	return number + ", " + rangeText(begin.UTC(), end.UTC())
}

// spanOf returns the time from the earliest begin to the latest end of at least one profile.
func spanOf(entries []*recent.Entry) (begin, end time.Time) {
	begin, end = entries[0].Begin, entries[0].End
	for _, e := range entries[1:] {
		if e.Begin.Before(begin) {
			begin = e.Begin
		}
		if e.End.After(end) {
			end = e.End
		}
	}
	return begin, end
}

// rangeText returns a time range as a text. It repeats the date only if the days differ.
func rangeText(begin, end time.Time) string {
	layout := time.TimeOnly
	if begin.YearDay() != end.YearDay() || begin.Year() != end.Year() {
		layout = time.DateTime
	}
	return begin.Format(time.DateTime) + " – " + end.Format(layout) + " UTC"
}
