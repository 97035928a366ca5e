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

// Parameters are those that the pages read: those of google/pprof, and p, by which the script of a flame graph remembers the
// function that was chosen.
var Parameters = []string{
	"calltree", "compact", "dropneg", "ef", "f", "g", "h", "i", "intel", "mean", "n", "nf", "noinlines", "norm", "p", "prunefrom",
	"rel", "s", "sf", "showcolumns", "si", "sort", "tf", "th", "ti", "trim", "ts", "unit",
}

// maxPattern is the number of steps of a regular expression that one byte of a name can cost.
const maxPattern = 2000

// CheckQuery tells what is wrong with the parameters of a page: regular expressions that cost too much.
func CheckQuery(values url.Values) error {
	for _, name := range patterns {
		if !cheap(values.Get(name)) {
			return fmt.Errorf("the regular expression %s=%.40q has more than %d steps", name, values.Get(name), maxPattern)
		}
	}
	return nil
}

// WantsLabels tells whether the parameters of a page ask for samples by their labels.
func WantsLabels(values url.Values) bool { return values.Get("tf") != "" || values.Get("ti") != "" }

// cheap tells whether a regular expression is small, also when its repetitions are written out. One that is not valid is
// for google/pprof to refuse.
func cheap(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	expression, err := syntax.Parse(pattern, syntax.Perl)
	return err != nil || selector.Steps(expression, maxPattern) <= maxPattern
}
