// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/google/pprof/profile"
)

const (
	// besidePage is the page with the flame graph and the functions side by side.
	besidePage = "both"
	// maxBeside limits the functions on that page.
	maxBeside = 200
	// pivotParameter is the parameter in which the script of a flame graph keeps the selected functions.
	pivotParameter = "p"
)

// besideTable returns the HTML of the table beside a flame graph.
func besideTable(d *drawing, p *profile.Profile) ([]byte, error) {
	table := &functionsPage{most: maxBeside, link: zoomLink}
	if err := table.fill(d, p); err != nil {
		return nil, err
	}
	table.All = "functions?" + onlyKnown(d.r.URL.Query()).Encode()
	var body bytes.Buffer
	if err := ownTemplate.ExecuteTemplate(&body, "beside", table); err != nil {
		return nil, fmt.Errorf("cannot make the table beside a flame graph: %w", err)
	}
	return body.Bytes(), nil
}

// zoomLink returns a link to the flame graph of a function, with its callers and callees. The script of the page numbers
// functions with the same name.
func zoomLink(name string, query url.Values) string {
	return "?" + with(query, pivotParameter, "^"+regexp.QuoteMeta(name)+`(#\d+)?$`).Encode()
}

// forGoogle returns parameters for google/pprof, without the sort order of this package, which a link may have kept.
func forGoogle(values url.Values) url.Values {
	order := values.Get(sortParameter)
	if order != "flat" && order != "cum" && slices.ContainsFunc(functionOrders, func(o functionOrder) bool { return o.name == order }) {
		return without(values, sortParameter)
	}
	return values
}
