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

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	// maxLabels is the number of labels that one profile can have.
	maxLabels = 128
	// maxLabelName is the maximum length of a name.
	maxLabelName = 1 << 10
	// maxLabelValue is the maximum length of a value.
	maxLabelValue = 16 << 10

	// nameLabel is the label with which Prometheus and related systems name a metric.
	nameLabel = "__name__"
)

// label is a label or tag that a client sends with a profile.
type label struct {
	name  string
	value string
}

// appendLabel appends a label to list, unless that exceeds a limit. Invalid UTF-8 becomes U+FFFD.
func appendLabel(list []label, name, value string) ([]label, error) {
	if len(list) == maxLabels {
		return list, labelsTooLarge("more than %d labels", maxLabels)
	}
	if err := checkLabel(name, value); err != nil {
		return list, err
	}
	return append(list, label{name: validText(name), value: validText(value)}), nil
}

// checkLabel refuses a name or a value that is too long.
func checkLabel(name, value string) error {
	switch {
	case len(name) > maxLabelName:
		return labelsTooLarge("bytes of the label name %.32q...: %d, the limit is %d", name, len(name), maxLabelName)
	case len(value) > maxLabelValue:
		return labelsTooLarge("bytes of the value of label %.64q: %d, the limit is %d", name, len(value), maxLabelValue)
	default:
		return nil
	}
}

// labelsTooLarge returns the error for a description of profiles that exceeds a limit.
func labelsTooLarge(format string, args ...any) error {
	return newRefusal(tooLarge, "too large: "+format, args...)
}

// validText returns text with invalid UTF-8 replaced by U+FFFD: OTLP requires UTF-8.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

const attributeServiceName = "service.name"

// pyroscopeNames maps labels of Pyroscope to the attributes of the semantic conventions.
var pyroscopeNames = map[string]string{"service_name": attributeServiceName}

// setFromLabels sets the labels that a client sends with its profiles as resource attributes. names maps labels to the
// attributes of the semantic conventions, which have one value: the last label counts. Other labels that occur with several
// values become an array. Labels for the server are left out, except the one with the name of the profile.
func setFromLabels(source *pprof.Source, labels []label, names map[string]string) {
	for i, l := range labels {
		switch name, known := names[l.name]; {
		case l.value == "":
		case l.name == nameLabel:
			source.ProfileName = l.value
		case strings.HasPrefix(l.name, "__"): // It is for the server.
		case known:
			source.Resource.PutStr(name, l.value)
		case l.name != attributeServiceName && slices.ContainsFunc(labels[:i], func(o label) bool { return o.name == l.name && o.value != "" }):
			addToArray(source.Resource, l.name, l.value)
		default:
			source.Resource.PutStr(l.name, l.value)
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
// from profile.name=<value>. The last parameter of a key counts. Empty values are ignored. Other parameters are
// ignored, or refused if known is not nil: with a misspelled one, the profile would be of another service.
func setFromQuery(source *pprof.Source, query string, known []string) error {
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
			if known != nil && parameter != "" {
				if err := configcheck.Parameter(name, known); err != nil {
					return newRefusal(badQuery, "%w", err)
				}
			}
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
