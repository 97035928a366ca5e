// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/selector"
)

const (
	// maxSelectors is how many attributes, and how many labels, a request can ask for, and maxExpressions how many of them by
	// a regular expression.
	maxSelectors   = 16
	maxExpressions = 8
)

// The ends of the names of parameters that say how a value is compared: key=value, key!=value, key~=expression and
// key!~=expression. They are in the name, since every value can be one that is wanted.
const (
	expressionMark = "~"
	negationMark   = "!"
)

// selectorsOf returns what the parameters want whose names begin with a prefix. All of them count; an empty value is any.
func selectorsOf(values url.Values, prefix string) (wanted []selector.Selector, err error) {
	expressions := 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, begins := strings.CutPrefix(name, prefix)
		key, expression := strings.CutSuffix(key, expressionMark)
		key, negated := strings.CutSuffix(key, negationMark)
		if !begins {
			continue
		}
		if key == "" {
			return nil, fail(http.StatusBadRequest, "%.40q has no key between %q and the operator", name, prefix)
		}
		for _, value := range values[name] {
			if value == "" {
				continue
			}
			one, err := selector.New(key, value, negated, expression)
			if err != nil {
				return nil, fail(http.StatusBadRequest, "%.100q: %v", name, err)
			}
			if wanted = append(wanted, one); one.IsExpression() {
				expressions++
			}
		}
	}
	if len(wanted) > maxSelectors {
		return nil, fail(http.StatusBadRequest, "%d parameters %s<key> are given, at most %d can be", len(wanted), prefix, maxSelectors)
	}
	if expressions > maxExpressions {
		return nil, fail(http.StatusBadRequest, "%d parameters %s<key> are regular expressions, at most %d can be", expressions, prefix, maxExpressions)
	}
	return wanted, nil
}

// expressionBytes is what the regular expressions of selectors take of memory.
func expressionBytes(wanted []selector.Selector) (bytes int64) {
	for i := range wanted {
		if wanted[i].IsExpression() {
			bytes += selector.Bytes
		}
	}
	return bytes
}

// attributesOf returns the attributes of the resource that parameters want.
func attributesOf(values url.Values, prefix string) ([]selector.Selector, error) {
	return selectorsOf(values, prefix+attributePrefix)
}

// wantsAny tells whether a parameter whose name begins with a prefix wants anything.
func wantsAny(values url.Values, prefix string) bool {
	for name, list := range values {
		if strings.HasPrefix(name, prefix) && strings.Join(list, "") != "" {
			return true
		}
	}
	return false
}

// parameterOf is the name of the parameter of a selector.
func parameterOf(prefix string, s *selector.Selector) string {
	name := prefix + s.Key
	if s.Negated() {
		name += negationMark
	}
	if s.IsExpression() {
		name += expressionMark
	}
	return name
}

// condition is a selector as a page shows it. Without leads to the page without it.
type condition struct{ Name, Operator, Value, Without string }

// conditionsOf returns the attributes and labels that parameters want.
func conditionsOf(values url.Values) (shown []condition) {
	for _, prefix := range []string{attributePrefix, labelPrefix} {
		wanted, _ := selectorsOf(values, prefix) // They were read before.
		for i := range wanted {
			s := &wanted[i]
			left := maps.Clone(values)
			name := parameterOf(prefix, s)
			left[name] = slices.DeleteFunc(slices.Clone(values[name]), func(value string) bool { return value == s.Text })
			shown = append(shown, condition{Name: s.Key, Operator: s.Operator(), Value: s.Text, Without: "?" + left.Encode()})
		}
	}
	return shown
}
