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
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	attributeServiceName = "service.name"

	queryResourcePrefix = "resource."
	queryServiceName    = "service.name"
	queryProfileName    = "profile.name"

	// nameLabel is the label with which Prometheus and related systems name a metric.
	nameLabel = "__name__"
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
		if err := label.Check(name.header, value); err != nil {
			return err
		}
		resource.PutStr(name.attribute, label.ValidText(value))
	}
	return nil
}

// setFromQuery sets resource attributes from resource.<key>=<value> and service.name=<value>, and the name of the profile
// from profile.name=<value>. The last parameter of a key counts. Empty values and other parameters are ignored.
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
			return refusal.New(refusal.BadQuery, "the query parameter %q names no attribute", name)
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
		return "", "", refusal.New(refusal.BadQuery, "cannot read the query parameter %.64q: %w", parameter, err)
	}
	return label.ValidText(name), label.ValidText(value), nil
}

// pyroscopeNames maps labels of Pyroscope to the attributes of the semantic conventions.
var pyroscopeNames = map[string]string{"service_name": attributeServiceName}

// setFromLabels sets the labels that a client sends with its profiles as resource attributes. names maps labels to the
// attributes of the semantic conventions, which have one value: the last label counts. Other labels that occur with several
// values become an array. Labels for the server are left out, except the one with the name of the profile.
func setFromLabels(source *pprof.Source, labels []label.Label, names map[string]string) {
	for i, l := range labels {
		switch name, known := names[l.Name]; {
		case l.Value == "":
		case l.Name == nameLabel:
			source.ProfileName = l.Value
		case strings.HasPrefix(l.Name, "__"): // It is for the server.
		case known:
			source.Resource.PutStr(name, l.Value)
		case l.Name != attributeServiceName && slices.ContainsFunc(labels[:i], func(o label.Label) bool { return o.Name == l.Name && o.Value != "" }):
			addToArray(source.Resource, l.Name, l.Value)
		default:
			source.Resource.PutStr(l.Name, l.Value)
		}
	}
}

// addToArray adds a value to those of an attribute, unless it is one of them.
func addToArray(resource pcommon.Map, name, value string) {
	known, _ := resource.GetOrPutEmpty(name)
	if known.Type() == pcommon.ValueTypeStr {
		first := known.Str()
		if first == value {
			return
		}
		known.SetEmptySlice().AppendEmpty().SetStr(first)
	}
	for _, other := range known.Slice().All() {
		if other.Str() == value {
			return
		}
	}
	known.Slice().AppendEmpty().SetStr(value)
}
