// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	attributeServiceName = "service.name"

	queryResourcePrefix = "resource."
	queryServiceName    = "service.name"
	queryProfileName    = "profile.name"
)

// headerAttribute is a header and the attribute for it.
type headerAttribute struct {
	header    string
	attribute string
}

// headerAttributes returns resource_headers, sorted by header.
func headerAttributes(configured map[string]string) []headerAttribute {
	sorted := make([]headerAttribute, 0, len(configured))
	for _, header := range slices.Sorted(maps.Keys(configured)) {
		sorted = append(sorted, headerAttribute{header: http.CanonicalHeaderKey(header), attribute: configured[header]})
	}
	return sorted
}

// setFromHeaders sets attributes from headers of the request. Empty headers are ignored. Only the first value of a header
// counts.
func setFromHeaders(resource pcommon.Map, header http.Header, named []headerAttribute) error {
	for _, name := range named {
		value := header.Get(name.header)
		if value == "" {
			continue
		}
		if err := checkLabel(name.header, value); err != nil {
			return err
		}
		resource.PutStr(name.attribute, validText(value))
	}
	return nil
}

// setFromQuery sets resource attributes from resource.<key>=<value> and service.name=<value>, and the name of the profile
// from profile.name=<value>. The last parameter of a key counts. Empty values and other parameters are ignored.
func setFromQuery(source *pprof.Source, query string) error {
	var attributes []label
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, err := unescape(parameter)
		if err != nil {
			return err
		}
		key, isResource := strings.CutPrefix(name, queryResourcePrefix)
		switch {
		case name == queryProfileName:
			if err := checkLabel(name, value); err != nil {
				return err
			}
			source.ProfileName = value
			continue
		case name == queryServiceName:
			key = name
		case !isResource:
			continue
		case key == "":
			return newRefusal(badQuery, "the query parameter %q names no attribute", name)
		}
		if value == "" {
			continue
		}
		if attributes, err = appendLabel(attributes, key, value); err != nil {
			return err
		}
	}
	for _, attribute := range attributes {
		source.Resource.PutStr(attribute.name, attribute.value)
	}
	return nil
}

func unescape(parameter string) (name, value string, err error) {
	name, value, _ = strings.Cut(parameter, "=")
	if name, err = url.QueryUnescape(name); err == nil {
		value, err = url.QueryUnescape(value)
	}
	if err != nil {
		return "", "", newRefusal(badQuery, "cannot read the query parameter %.64q: %w", parameter, err)
	}
	return validText(name), validText(value), nil
}
