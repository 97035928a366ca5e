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

// labelPrefix begins the parameters that name a label of samples.
const labelPrefix = "label."

// The parameters that answers know. One that ends with a dot stands for all that begin with it: attributes of the resource, and
// labels of samples.
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
	// ownParameters are those of all pages that are not of google/pprof.
	ownParameters  = slices.Concat(chooseParameters, baseParameters, []string{sampleIndexParameter, layoutParameter})
	listParameters = []string{fromParameter, untilParameter, afterServiceParameter, afterTypeParameter, searchParameter, sortParameter, attributePrefix}
	// listPageParameters are those of the list that people see.
	listPageParameters = slices.Concat(listParameters, []string{refreshParameter})
)

// checkParameters refuses parameters that nothing reads: the answer would be another one than the one that was asked for.
func checkParameters(values url.Values, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if isKnown(name, known) {
			continue
		}
		if meant := nearestParameter(name, known); meant != "" {
			return fail(http.StatusBadRequest, "%.40q is not a parameter here, did you mean %q?", name, meant)
		}
		return fail(http.StatusBadRequest, "%.40q is not a parameter here, known are %s", name, namesOf(known))
	}
	return nil
}

// isKnown tells whether a parameter is one of those that are known.
func isKnown(name string, known []string) bool {
	for _, one := range known {
		if key, found := strings.CutPrefix(name, one); found && (key == "") != strings.HasSuffix(one, ".") {
			return true
		}
	}
	return false
}

// namesOf names parameters.
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

// maxParameterName is how much of an unknown name is compared with the known ones.
const maxParameterName = 64
