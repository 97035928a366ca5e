// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"

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
