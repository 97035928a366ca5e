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
	// besidePage is the page of the flame graph and the functions side by side.
	besidePage = "both"
	// maxBeside is how many functions it shows.
	maxBeside = 200
	// pivotParameter is by which the script of a flame graph remembers the functions that were chosen.
	pivotParameter = "p"
)

// besides returns the table of functions that stands beside a flame graph.
func besides(d *drawing, p *profile.Profile) ([]byte, error) {
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

// zoomLink leads to the flame graph of a function with all that it calls and that calls it. The script of the page tells functions of one
// name from each other by numbers.
func zoomLink(name string, query url.Values) string {
	return "?" + with(query, pivotParameter, "^"+regexp.QuoteMeta(name)+`(#\d+)?$`).Encode()
}

// forGoogle returns parameters as the pages of google/pprof take them: without an order of ours, which a link may have kept.
func forGoogle(values url.Values) url.Values {
	order := values.Get(sortParameter)
	if order != "flat" && order != "cum" && slices.ContainsFunc(functionOrders, func(o functionOrder) bool { return o.name == order }) {
		return without(values, sortParameter)
	}
	return values
}
