// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

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
