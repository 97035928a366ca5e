// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// labelPrefix is the prefix of the parameters that name a sample label.
const labelPrefix = "label."

// The known parameters. A name that ends with a dot stands for all names with that prefix: resource attributes and sample
// labels.
var (
	timeParameters    = []string{fromParameter, untilParameter, windowParameter, secondsParameter}
	traceParameters   = []string{fromParameter, untilParameter, attributePrefix, labelPrefix}
	chooseParameters  = slices.Concat(timeParameters, []string{traceParameter, spanParameter, attributePrefix, labelPrefix})
	profileParameters = slices.Concat(chooseParameters, []string{scraperParameter})
	pgoParameters     = slices.Concat(chooseParameters, []string{depthParameter})
	baseParameters    = []string{
		basePrefix + "service", basePrefix + "type", basePrefix + fromParameter, basePrefix + untilParameter, basePrefix + windowParameter,
		basePrefix + attributePrefix, basePrefix + labelPrefix,
	}
	viewParameters = slices.Concat(ownParameters, viewer.Parameters)
	// ownParameters are the parameters of all pages that are not from google/pprof.
	ownParameters  = slices.Concat(chooseParameters, baseParameters, []string{sampleIndexParameter, layoutParameter})
	listParameters = []string{fromParameter, untilParameter, afterServiceParameter, afterTypeParameter, searchParameter, sortParameter, attributePrefix}
	// listPageParameters are the parameters of the HTML list.
	listPageParameters = slices.Concat(listParameters, []string{refreshParameter})
)

// checkParameters refuses unknown parameters, since the answer would not be what the client asked for.
func checkParameters(values url.Values, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if isKnown(name, known) {
			continue
		}
		if meant := nearestParameter(name, known); meant != "" {
			return fail(http.StatusBadRequest, "%.40q is not a parameter here, did you mean %q?", name, meant)
		}
		return fail(http.StatusBadRequest, "%.40q is not a parameter here, the known ones are %s", name, namesOf(known))
	}
	return nil
}

// only returns the parameters that keep accepts.
func only(values url.Values, keep func(name string) bool) url.Values {
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(name string, _ []string) bool { return !keep(name) })
	return kept
}

// isKnown returns whether a parameter is known.
func isKnown(name string, known []string) bool {
	for _, one := range known {
		if key, found := strings.CutPrefix(name, one); found && (key == "") != strings.HasSuffix(one, ".") {
			return true
		}
	}
	return false
}

// namesOf returns the names of parameters as a text.
func namesOf(known []string) string {
	names := make([]string, len(known))
	for i, name := range known {
		if names[i] = name; strings.HasSuffix(name, ".") {
			names[i] += "<key>"
		}
	}
	return strings.Join(names, ", ")
}

// nearestParameter returns the known parameter with the most similar spelling, if there is one.
func nearestParameter(name string, known []string) string {
	name = name[:min(len(name), maxParameterName)]
	before, key, hasKey := strings.Cut(name, ".")
	var prefixes []string
	for _, one := range known {
		if prefix, found := strings.CutSuffix(one, "."); found {
			prefixes = append(prefixes, prefix)
		}
	}
	if hasKey && key != "" {
		if meant := configcheck.Nearest(before, prefixes, 3); meant != "" && meant != before {
			return meant + "." + key
		}
	}
	return configcheck.Nearest(name, known, max(1, len(name)/3))
}

// maxParameterName limits how much of an unknown name is compared.
const maxParameterName = 64
