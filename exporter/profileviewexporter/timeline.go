// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// The measures of the timeline. bar.html has the same numbers.
const (
	timelineBars   = 60
	timelineBar    = 10
	timelineHeight = 30
	// maxTimelineQuery limits the query that the links of the bars repeat. Pages with a longer query have no timeline.
	maxTimelineQuery = 1 << 10
)

// timeline shows when the profiles of a service and type were recorded. Each bar links to its part of the time.
type timeline struct {
	// Start is the time of the first bar and Step the length of each, in seconds.
	Start, Step int64
	// Query links to the page without a time. The script adds one.
	Query string
	Bars  []timeBar
}

// timeBar is a part of the time. Chosen is true if the page has profiles of it.
type timeBar struct {
	Bar, X, Y, Height int
	Link, Title       string
	Chosen            bool
}

// timelineOf returns the timeline of all profiles in memory that the page could show. It leaves out profiles whose time is far
// from their arrival.
func timelineOf(r *http.Request, values url.Values, all, chosen []*recent.Entry) (t timeline) {
	all = slices.DeleteFunc(slices.Clone(all), (*recent.Entry).Far)
	if len(all) == 0 || len(r.URL.RawQuery) > maxTimelineQuery {
		return t
	}
	begin, end := spanOf(all)
	t.Start = begin.Unix()
	t.Step = (end.Unix()-t.Start)/timelineBars + 1
	t.Query = "?" + withSpan(values, "", "").Encode()
	counts, shown := t.count(all), t.count(chosen)
	most := slices.Max(counts[:])
	for i, n := range counts {
		if n == 0 {
			continue
		}
		from, until := time.Unix(t.Start+int64(i)*t.Step, 0).UTC(), time.Unix(t.Start+int64(i+1)*t.Step, 0).UTC()
		height := max(3, n*timelineHeight/most)
		t.Bars = append(t.Bars, timeBar{
			Bar: i, X: i * timelineBar, Y: timelineHeight - height, Height: height, Chosen: shown[i] > 0,
			Title: fmt.Sprintf("%s: %d profiles", rangeText(from, until), n),
			Link:  "?" + withSpan(values, from.Format(time.RFC3339), until.Format(time.RFC3339)).Encode(),
		})
	}
	return t
}

// count returns the number of profiles of each bar. The link of a bar selects the same number.
func (t *timeline) count(entries []*recent.Entry) (counts [timelineBars]int) {
	for _, e := range entries {
		if e.Far() {
			continue
		}
		first, last := (e.Begin.Unix()-t.Start)/t.Step, (e.End.Unix()-t.Start)/t.Step
		for i := max(first, 0); i <= min(last, timelineBars-1); i++ {
			counts[i]++
		}
	}
	return counts
}

// withSpan returns parameters with another time of the profile. The profile to compare with keeps its time.
func withSpan(values url.Values, from, until string) url.Values {
	changed := maps.Clone(values)
	for _, name := range timeParameters {
		changed.Del(name)
	}
	if from != "" {
		changed.Set(fromParameter, from)
		changed.Set(untilParameter, until)
	}
	return changed
}
