// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// attributePrefix is the prefix of the parameters that name a resource attribute.
const attributePrefix = "resource."

// The parameters of a time. allTimes is a value of the first two.
const (
	fromParameter    = "from"
	untilParameter   = "until"
	windowParameter  = "window"
	secondsParameter = "seconds"
	allTimes         = "all"
)

// query returns the query of the parameters with a prefix, which can be empty: from, until, window or seconds, and resource
// attributes. The service is that of the path, unless a parameter with the prefix names another.
func (p *pages) query(r *http.Request, profileType, prefix string) (recent.Query, error) {
	values := r.URL.Query()
	q := recent.Query{Tenant: p.tenant(r), Service: r.PathValue("service"), Type: profileType, Attributes: attributesOf(r, prefix)}
	var err error
	now := p.now()
	if q.From, q.Until, err = bounds(values, prefix, now); err != nil {
		return q, err
	}
	if text := values.Get(prefix + windowParameter); text != "" {
		if q.Window, err = time.ParseDuration(text); err != nil || q.Window <= 0 {
			return q, fail(http.StatusBadRequest, "%swindow must be a time above 0 such as 15m, not %.40q", prefix, text)
		}
	}
	if text := values.Get(secondsParameter); text != "" && prefix == "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || seconds == 0 {
			return q, fail(http.StatusBadRequest, "seconds must be a number above 0, not %.40q", text)
		}
		q.Window = time.Duration(seconds) * time.Second
	}
	if scraper, named := p.scraperOf(r); named && prefix == "" {
		if q.After, err = p.scrapers.last(scraper, now); err != nil {
			return q, err
		}
	}
	return q, nil
}

// bounds reads the parameters of both ends of a time.
func bounds(values url.Values, prefix string, now time.Time) (from, until recent.Bound, err error) {
	if from, err = bound(values, prefix+fromParameter, now); err != nil {
		return from, until, err
	}
	until, err = bound(values, prefix+untilParameter, now)
	return from, until, err
}

// bound reads the parameter of one end of a time: RFC 3339, seconds since 1970, now, a time before now such as now-15m or -15m,
// or all or an empty text for no bound.
func bound(values url.Values, parameter string, now time.Time) (recent.Bound, error) {
	text := values.Get(parameter)
	switch text {
	case "", allTimes:
		return recent.Bound{}, nil
	case "now":
		return recent.Bound{At: now, Relative: true}, nil
	}
	if before, found := strings.CutPrefix(strings.TrimPrefix(text, "now"), "-"); found {
		if age, err := time.ParseDuration(before); err == nil && age >= 0 {
			return recent.Bound{At: now.Add(-age), Relative: true}, nil
		}
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds < 1<<40 {
		return recent.Bound{At: time.Unix(seconds, 0)}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return recent.Bound{}, fail(http.StatusBadRequest, "%s: want RFC 3339, seconds since 1970, a time before now such as -15m, or %s, not %.40q",
			parameter, allTimes, text)
	}
	return recent.Bound{At: at}, nil
}
