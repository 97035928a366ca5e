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

// The parameters that answers know. What begins with attributePrefix names an attribute of the resource, also behind
// basePrefix.
var (
	timeParameters    = []string{fromParameter, untilParameter, windowParameter, secondsParameter}
	traceParameters   = []string{fromParameter, untilParameter}
	chooseParameters  = slices.Concat(timeParameters, []string{traceParameter, spanParameter})
	profileParameters = slices.Concat(chooseParameters, []string{scraperParameter})
	pgoParameters     = slices.Concat(chooseParameters, []string{depthParameter})
	baseParameters    = []string{
		basePrefix + "service", basePrefix + "type", basePrefix + fromParameter, basePrefix + untilParameter, basePrefix + windowParameter,
	}
	viewParameters = slices.Concat(chooseParameters, baseParameters, viewer.Parameters)
	listParameters = []string{fromParameter, untilParameter, afterServiceParameter, afterTypeParameter, searchParameter, sortParameter}
	// listPageParameters are those of the list that people see.
	listPageParameters = slices.Concat(listParameters, []string{refreshParameter})
)

// checkParameters refuses parameters that nothing reads: the answer would be another one than the one that was asked for.
func checkParameters(values url.Values, known []string) error {
	comparing := slices.Contains(known, basePrefix+fromParameter)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(known, name) || isAttribute(name, "") || comparing && isAttribute(name, basePrefix) {
			continue
		}
		if meant := nearestParameter(name, known); meant != "" {
			return fail(http.StatusBadRequest, "%.40q is not a parameter here, did you mean %q?", name, meant)
		}
		return fail(http.StatusBadRequest, "%.40q is not a parameter here, known are %s and %s<key>", name, strings.Join(known, ", "), attributePrefix)
	}
	return nil
}

// isAttribute tells whether a parameter names an attribute of the resource.
func isAttribute(name, prefix string) bool {
	key, found := strings.CutPrefix(name, prefix+attributePrefix)
	return found && key != ""
}

// nearestParameter returns the known parameter with the most similar spelling, if there is one.
func nearestParameter(name string, known []string) string {
	name = name[:min(len(name), maxParameterName)]
	before, key, hasKey := strings.Cut(name, ".")
	if hasKey {
		if meant := configcheck.Nearest(before, []string{"resource", basePrefix + "resource"}, 3); meant != "" {
			return meant + "." + key
		}
	}
	return configcheck.Nearest(name, known, max(1, len(name)/3))
}

// maxParameterName is how much of an unknown name is compared with the known ones.
const maxParameterName = 64
