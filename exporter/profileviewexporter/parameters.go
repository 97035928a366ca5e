// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// The parameters of requests. attributePrefix and labelPrefix are prefixes: of resource attributes and of sample labels.
const (
	fromParameter     = "from"
	untilParameter    = "until"
	windowParameter   = "window"
	secondsParameter  = "seconds"
	attributePrefix   = "resource."
	labelPrefix       = "label."
	traceParameter    = "trace_id"
	spanParameter     = "span_id"
	typeParameter     = "type"
	queryParameter    = "query"
	functionParameter = "function"
	// depthParameter changes the default number of frames of a profile for go build.
	depthParameter = "depth"
	// scraperParameter names a scraper, which receives each profile once.
	scraperParameter = "scraper"
	// These name the series before the first series of an answer.
	afterServiceParameter = "after_service"
	afterTypeParameter    = "after_type"
	// basePrefix is the prefix of the parameters of the other side of a comparison.
	basePrefix = "base_"
	// allTimes is a value of from and until.
	allTimes = "all"
)

// The known parameters, see [configcheck.Parameter].
var (
	listParameters = []string{fromParameter, untilParameter, afterServiceParameter, afterTypeParameter, attributePrefix}
	pathParameters = []string{
		fromParameter, untilParameter, windowParameter, secondsParameter, traceParameter, spanParameter, attributePrefix, labelPrefix,
	}
	profileParameters   = append(slices.Clone(pathParameters), scraperParameter)
	pgoParameters       = append(slices.Clone(pathParameters), depthParameter)
	selectionParameters = []string{typeParameter, queryParameter, fromParameter, untilParameter, traceParameter, spanParameter}
	functionsParameters = append(slices.Clone(selectionParameters), functionParameter,
		basePrefix+typeParameter, basePrefix+queryParameter, basePrefix+fromParameter, basePrefix+untilParameter)
	plainListParameters = []string{fromParameter, untilParameter, afterServiceParameter, afterTypeParameter, queryParameter}
)

// checkParameters returns an error for an unknown parameter.
func checkParameters(values url.Values, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := configcheck.Parameter(name, known); err != nil {
			return fail(http.StatusBadRequest, "%v", err)
		}
	}
	return nil
}

// The operators at the end of the name of a parameter that selects by an attribute or label.
const (
	expressionMark = "~"
	negationMark   = "!"
)

// filterOf returns the filter of the parameters: attributes, labels, and the IDs of a trace and a span.
func (c *call) filterOf(values url.Values) (*filter, error) {
	ofResources, err := selectorsOf(values, attributePrefix, attributeScope)
	if err != nil {
		return nil, err
	}
	ofSamples, err := selectorsOf(values, labelPrefix, sampleScope)
	if err != nil {
		return nil, err
	}
	return c.newFilter(append(ofResources, ofSamples...), nonEmpty(values, traceParameter), nonEmpty(values, spanParameter))
}

// nonEmpty returns the values of a parameter that are not empty.
func nonEmpty(values url.Values, name string) []string {
	return slices.DeleteFunc(slices.Clone(values[name]), func(value string) bool { return value == "" })
}

// selectorsOf returns the selectors of the parameters with a prefix. An empty value matches any.
func selectorsOf(values url.Values, prefix string, scope scope) (all []selector, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, found := strings.CutPrefix(name, prefix)
		if !found {
			continue
		}
		key, isExpression := strings.CutSuffix(key, expressionMark)
		key, isNegated := strings.CutSuffix(key, negationMark)
		if key == "" {
			return nil, fail(http.StatusBadRequest, "%.40q has no key between %q and the operator", name, prefix)
		}
		for _, value := range values[name] {
			if value == "" {
				continue
			}
			one, err := newSelector(scope, key, value, isNegated, isExpression)
			if err != nil {
				return nil, fail(http.StatusBadRequest, "%.100q: %v", name, err)
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// bounds reads the parameters of both ends of a time.
func bounds(values url.Values) (from, until store.Bound, err error) {
	now := time.Now()
	if from, err = bound(values, fromParameter, now); err != nil {
		return from, until, err
	}
	until, err = bound(values, untilParameter, now)
	return from, until, err
}

// bound reads the parameter of one end of a time: RFC 3339, seconds since 1970, now, a time before now such as now-15m or -15m,
// or all or an empty text for no bound.
func bound(values url.Values, parameter string, now time.Time) (store.Bound, error) {
	text := values.Get(parameter)
	switch text {
	case "", allTimes:
		return store.Bound{}, nil
	case "now":
		return store.Bound{At: now, Relative: true}, nil
	}
	if before, found := strings.CutPrefix(strings.TrimPrefix(text, "now"), "-"); found {
		if age, err := time.ParseDuration(before); err == nil && age >= 0 {
			return store.Bound{At: now.Add(-age), Relative: true}, nil
		}
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds < 1<<40 {
		return store.Bound{At: time.Unix(seconds, 0)}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return store.Bound{}, fail(http.StatusBadRequest, "%s: want RFC 3339, seconds since 1970, a time before now such as -15m, or %s, not %.40q",
			parameter, allTimes, text)
	}
	return store.Bound{At: at}, nil
}

// window reads the parameters of a time before the newest profile.
func window(values url.Values) (time.Duration, error) {
	if text := values.Get(secondsParameter); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || seconds == 0 {
			return 0, fail(http.StatusBadRequest, "seconds must be a number above 0, not %.40q", text)
		}
		return time.Duration(seconds) * time.Second, nil
	}
	text := values.Get(windowParameter)
	if text == "" {
		return 0, nil
	}
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 {
		return 0, fail(http.StatusBadRequest, "window must be a time above 0 such as 15m, not %.40q", text)
	}
	return length, nil
}
