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

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	queryResourcePrefix = "resource."
	queryServiceName    = "service.name"
	queryProfileName    = "profile.name"

	// nameLabel is the label that Prometheus and its kin use for the name of what is measured.
	nameLabel = "__name__"
)

// headerAttribute says which attribute a header sets.
type headerAttribute struct {
	header    string
	attribute string
}

// headerAttributes returns resource_headers in an order that does not change.
func headerAttributes(configured map[string]string) []headerAttribute {
	sorted := make([]headerAttribute, 0, len(configured))
	for _, header := range slices.Sorted(maps.Keys(configured)) {
		sorted = append(sorted, headerAttribute{header: http.CanonicalHeaderKey(header), attribute: configured[header]})
	}
	return sorted
}

// setFromHeaders sets the attributes that are named for headers of the request. An empty header sets nothing; of a
// header that comes several times, the first one counts.
func setFromHeaders(resource pcommon.Map, header http.Header, named []headerAttribute) error {
	for _, name := range named {
		value := header.Get(name.header)
		if value == "" {
			continue
		}
		if err := label.Check(name.header, value); err != nil {
			return err
		}
		resource.PutStr(name.attribute, label.ValidText(value))
	}
	return nil
}

// setFromQuery sets what the query says of the resource, resource.<key>=<value> and service.name=<value>, and of the
// profile, profile.name=<value>. Parameters are taken in their order, so that the last one of a key counts. Empty values
// set nothing; other parameters mean nothing here.
func setFromQuery(source *pprof.Source, query string) error {
	var attributes []label.Label
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, err := unescape(parameter)
		if err != nil {
			return err
		}
		key, isResource := strings.CutPrefix(name, queryResourcePrefix)
		switch {
		case name == queryProfileName:
			if err := label.Check(name, value); err != nil {
				return err
			}
			source.ProfileName = value
			continue
		case name == queryServiceName:
			key = name
		case !isResource:
			continue
		case key == "":
			return refuse(classBadQuery, "the query parameter %q names no attribute", name)
		}
		if value == "" {
			continue
		}
		if attributes, err = label.Append(attributes, key, value); err != nil {
			return err
		}
	}
	for _, attribute := range attributes {
		source.Resource.PutStr(attribute.Name, attribute.Value)
	}
	return nil
}

func unescape(parameter string) (name, value string, err error) {
	name, value, _ = strings.Cut(parameter, "=")
	if name, err = url.QueryUnescape(name); err == nil {
		value, err = url.QueryUnescape(value)
	}
	if err != nil {
		return "", "", refuse(classBadQuery, "cannot read the query parameter %.64q: %w", parameter, err)
	}
	return label.ValidText(name), label.ValidText(value), nil
}

// setFromLabels sets the labels that a client sends with its profiles, but for those that speak to the server, of which
// one is the name of the profile. Those that names has get the name that OpenTelemetry has for them.
func setFromLabels(source *pprof.Source, labels []label.Label, names map[string]string) {
	for _, l := range labels {
		switch name, known := names[l.Name]; {
		case l.Value == "":
		case l.Name == nameLabel:
			source.ProfileName = l.Value
		case label.Transport(l.Name):
		case known:
			source.Resource.PutStr(name, l.Value)
		default:
			source.Resource.PutStr(l.Name, l.Value)
		}
	}
}
