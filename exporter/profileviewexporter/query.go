// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// attributePrefix begins the parameters that name an attribute of the resource.
const attributePrefix = "resource."

// query reads which profiles a request is for: from, until, window or seconds, and attributes of the resource. All begin
// with prefix, if there is one. The service is that of the path, unless a parameter with a prefix names another.
func (p *pages) query(r *http.Request, profileType, prefix string) (recent.Query, error) {
	values := r.URL.Query()
	q := recent.Query{Tenant: p.tenant(r), Service: r.PathValue("service"), Type: profileType}
	var err error
	now := p.now()
	if q.From, err = parseTime(values.Get(prefix+"from"), now); err != nil {
		return q, fail(http.StatusBadRequest, "%sfrom: %v", prefix, err)
	}
	if q.Until, err = parseTime(values.Get(prefix+"until"), now); err != nil {
		return q, fail(http.StatusBadRequest, "%suntil: %v", prefix, err)
	}
	if text := values.Get(prefix + "window"); text != "" {
		if q.Window, err = time.ParseDuration(text); err != nil || q.Window <= 0 {
			return q, fail(http.StatusBadRequest, "%swindow must be a time above 0 such as 15m, not %.40q", prefix, text)
		}
	}
	if text := values.Get("seconds"); text != "" && prefix == "" {
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
	for name, list := range values {
		if key, found := strings.CutPrefix(name, prefix+attributePrefix); found && key != "" {
			if q.Attributes == nil {
				q.Attributes = map[string]string{}
			}
			q.Attributes[key] = list[0]
		}
	}
	return q, nil
}

// parseTime reads RFC 3339, seconds since 1970, now, or a time before now such as now-15m or -15m. Nothing is no time.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if before, found := strings.CutPrefix(strings.TrimPrefix(text, "now"), "-"); found {
		if age, err := time.ParseDuration(before); err == nil && age >= 0 {
			return now.Add(-age), nil
		}
	}
	if text == "now" {
		return now, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds < 1<<40 {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fail(http.StatusBadRequest, "want RFC 3339, seconds since 1970, or a time before now such as -15m, not %.40q", text)
	}
	return at, nil
}
