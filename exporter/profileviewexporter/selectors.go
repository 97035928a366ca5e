// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/selector"
)

const (
	// maxSelectors limits the selectors of attributes, and those of labels, in a request. maxExpressions limits those with a
	// regular expression.
	maxSelectors   = 16
	maxExpressions = 8
)

// The marks at the end of the name of a parameter select the operator: key=value, key!=value, key~=expression and
// key!~=expression. They are part of the name, since every text can be a value.
const (
	expressionMark = "~"
	negationMark   = "!"
)

// selectorsOf returns the selectors in the parameters with a prefix. Parameters with an empty value select nothing and are left
// out.
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
		return nil, fail(http.StatusBadRequest, "%d parameters %s<key> are given, the limit is %d", len(wanted), prefix, maxSelectors)
	}
	if expressions > maxExpressions {
		return nil, fail(http.StatusBadRequest, "%d parameters %s<key> are regular expressions, the limit is %d", expressions, prefix, maxExpressions)
	}
	return wanted, nil
}

// expressionBytes returns the memory that the regular expressions of selectors use.
func expressionBytes(wanted []selector.Selector) (bytes int64) {
	for i := range wanted {
		if wanted[i].IsExpression() {
			bytes += selector.Bytes
		}
	}
	return bytes
}

// attributesKey is the key of the selectors of resource attributes in the context of a request, by the prefix of their parameters.
type attributesKey struct{}

// selecting checks the parameters of a request, reads its selectors of resource attributes, and reserves the memory of their regular
// expressions. All parts of the answer share these selectors, since each compiles its expression once. The caller must use the
// returned request, and must release the reservation after the answer.
func (p *pages) selecting(r *http.Request, known []string) (*http.Request, *memory.Reservation, error) {
	values := r.URL.Query()
	if err := checkParameters(values, known); err != nil {
		return nil, nil, err
	}
	wanted, bytes := map[string][]selector.Selector{}, int64(0)
	for _, prefix := range []string{"", basePrefix} {
		some, err := selectorsOf(values, prefix+attributePrefix)
		if err != nil {
			return nil, nil, err
		}
		wanted[prefix] = some
		bytes += expressionBytes(some)
	}
	reservation, err := p.budget.Reserve(r.Context(), bytes)
	if err != nil {
		return nil, nil, err
	}
	return r.WithContext(context.WithValue(r.Context(), attributesKey{}, wanted)), reservation, nil
}

// attributesOf returns the selectors of resource attributes that [pages.selecting] has read. A prefix can precede their parameters.
func attributesOf(r *http.Request, prefix string) []selector.Selector {
	wanted, _ := r.Context().Value(attributesKey{}).(map[string][]selector.Selector)
	return wanted[prefix]
}

// wantsAny returns whether a parameter with a prefix has a value.
func wantsAny(values url.Values, prefix string) bool {
	for name, list := range values {
		if strings.HasPrefix(name, prefix) && strings.Join(list, "") != "" {
			return true
		}
	}
	return false
}

// parameterOf returns the name of the parameter of a selector.
func parameterOf(prefix string, s *selector.Selector, negated bool) string {
	name := prefix + s.Key
	if negated {
		name += negationMark
	}
	if s.IsExpression() {
		name += expressionMark
	}
	return name
}

// condition is a selector on a page. Without links to the page without it, Opposite to the page with the negated selector.
type condition struct {
	Name, Operator, Value, Without, Opposite string
	Excludes                                 bool
}

// conditionsOf returns the selectors of attributes and labels in the parameters.
func conditionsOf(values url.Values) (shown []condition) {
	for _, prefix := range []string{attributePrefix, labelPrefix} {
		wanted, _ := selectorsOf(values, prefix) // Those of attributes are checked, and serveLimited refuses invalid ones of labels.
		for i := range wanted {
			s := &wanted[i]
			left := maps.Clone(values)
			name, opposite := parameterOf(prefix, s, s.Negated()), parameterOf(prefix, s, !s.Negated())
			left[name] = slices.DeleteFunc(slices.Clone(values[name]), func(value string) bool { return value == s.Text })
			c := condition{Name: s.Key, Operator: s.Operator(), Value: s.Text, Excludes: s.Negated(), Without: "?" + left.Encode()}
			left[opposite] = append(slices.Clone(left[opposite]), s.Text)
			c.Opposite = "?" + left.Encode()
			shown = append(shown, c)
		}
	}
	return shown
}
