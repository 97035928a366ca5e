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
	queryResourcePrefix = "resource."
	queryServiceName    = "service.name"
	queryProfileName    = "profile.name"
)

// setFromHeaders sets attributes from headers of the request, in the order of their names. Empty headers are ignored. Only the first value
// of a header counts.
func setFromHeaders(resource pcommon.Map, header http.Header, attributes map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := header.Get(name)
		if value == "" {
			continue
		}
		if err := checkLabel(http.CanonicalHeaderKey(name), value); err != nil {
			return err
		}
		resource.PutStr(attributes[name], validText(value))
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
