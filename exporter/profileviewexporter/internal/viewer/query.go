// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/url"
	"regexp/syntax"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// patterns are the parameters of google/pprof that are regular expressions.
var patterns = []string{"f", "i", "h", "s", "sf", "prunefrom", "tf", "ti", "ts", "th"}

// Parameters are the parameters that the pages read: those of google/pprof, and p, in which the script of a flame graph keeps
// the selected function.
var Parameters = []string{
	"calltree", "compact", "dropneg", "ef", "f", "g", "h", "i", "intel", "mean", "n", "nf", "noinlines", "norm", "p", "prunefrom",
	"rel", "s", "sf", "showcolumns", "si", "sort", "tf", "th", "ti", "trim", "ts", "unit",
}

// maxPattern limits the steps of a regular expression, which is the work that one byte of a name can cost.
const maxPattern = 2000

// CheckQuery returns an error if a regular expression in the parameters has too many steps.
func CheckQuery(values url.Values) error {
	for _, name := range patterns {
		if !cheap(values.Get(name)) {
			return fmt.Errorf("the regular expression %s=%.40q has more than %d steps", name, values.Get(name), maxPattern)
		}
	}
	return nil
}

// WantsLabels returns whether the parameters select samples by their labels.
func WantsLabels(values url.Values) bool { return values.Get("tf") != "" || values.Get("ti") != "" }

// cheap returns whether a regular expression is small with its repetitions expanded. It returns true for an invalid expression,
// which google/pprof refuses.
func cheap(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	expression, err := syntax.Parse(pattern, syntax.Perl)
	return err != nil || selector.Steps(expression, maxPattern) <= maxPattern
}
