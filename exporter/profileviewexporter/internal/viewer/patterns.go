// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// The parameters of google/pprof that are regular expressions: those for the names of functions, files and mappings, and those for labels.
var (
	namePatterns  = []string{"f", "i", "h", "s", "sf", "prunefrom"}
	labelPatterns = []string{"tf", "ti", "ts", "th"}
)

const (
	// maxPattern limits the steps of all regular expressions of a request, which is the work that one byte of a name can cost.
	maxPattern = 2000
	// maxWork limits the steps for all names of a profile. They take four to five seconds.
	maxWork = 1 << 29
	// textSteps is the number of steps of a regular expression that take as long as one, if it matches only a text.
	textSteps = 32
)

// CheckQuery returns an error if the regular expressions in the parameters have too many steps.
func CheckQuery(values url.Values) error {
	steps := 0
	for _, name := range slices.Concat(namePatterns, labelPatterns) {
		for _, pattern := range patternsOf(name, values.Get(name)) {
			if steps += stepsOf(pattern); steps > maxPattern {
				return fmt.Errorf("the regular expressions of this page have more than %d steps together, with that of %s=%.40q", maxPattern, name, values.Get(name))
			}
		}
	}
	return nil
}

// CheckWork returns an error if the regular expressions in the parameters take too many steps for the names of a profile.
func CheckWork(values url.Values, p *profile.Profile) error {
	work, given := int64(0), []string(nil)
	for i, names := range [][]string{namePatterns, labelPatterns} {
		steps := 0
		for _, name := range names {
			if values.Get(name) == "" {
				continue
			}
			given = append(given, name)
			for _, pattern := range patternsOf(name, values.Get(name)) {
				steps += workOf(pattern)
			}
		}
		switch {
		case steps == 0:
		case i == 0:
			work += int64(steps) * nameBytes(p)
		default:
			work += int64(steps) * labelBytes(p)
		}
	}
	if work > maxWork {
		return fmt.Errorf("the regular expressions of %s can take %d steps for the names of this profile, the limit is %d: write shorter ones or select a shorter time",
			strings.Join(given, ", "), work, maxWork)
	}
	return nil
}

// patternsOf returns the regular expressions of a parameter. google/pprof reads tf and ti as key=expression,expression.
func patternsOf(name, text string) []string {
	if name != "tf" && name != "ti" {
		return []string{text}
	}
	if _, after, found := strings.Cut(text, "="); found {
		text = after
	}
	return strings.Split(text, ",")
}

// stepsOf returns the number of steps of a regular expression with its repetitions expanded, or a number above maxPattern. An invalid
// expression, which google/pprof refuses, has none.
func stepsOf(pattern string) int {
	if len(pattern) > maxPattern {
		return maxPattern + 1
	}
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || pattern == "" {
		return 0
	}
	return selector.Steps(expression, maxPattern)
}

// cheap returns whether a regular expression is small with its repetitions expanded.
func cheap(pattern string) bool { return stepsOf(pattern) <= maxPattern }

// workOf returns the number of steps that a regular expression takes for a byte.
func workOf(pattern string) int {
	steps := stepsOf(pattern)
	if expression, err := syntax.Parse(pattern, syntax.Perl); err == nil && isText(expression) {
		return 1 + steps/textSteps
	}
	return steps
}

// isText returns whether an expression matches only a text, such as the link to the flame graph of a function. Package regexp searches it
// as a text.
func isText(e *syntax.Regexp) bool {
	switch e.Op {
	case syntax.OpLiteral:
		return e.Flags&syntax.FoldCase == 0
	case syntax.OpBeginText, syntax.OpEndText:
		return true
	case syntax.OpConcat:
		return !slices.ContainsFunc(e.Sub, func(part *syntax.Regexp) bool { return !isText(part) })
	}
	return false
}

// nameBytes returns the length of all names that an expression is compared with.
func nameBytes(p *profile.Profile) (bytes int64) {
	for _, l := range p.Location {
		if l.Mapping != nil {
			bytes += int64(len(l.Mapping.File)) + 1
		}
		for i := range l.Line {
			if f := l.Line[i].Function; f != nil {
				bytes += int64(len(f.Name)+len(f.Filename)) + 2
			}
		}
	}
	return bytes
}

// labelBytes returns the length of all labels of samples.
func labelBytes(p *profile.Profile) (bytes int64) {
	for _, s := range p.Sample {
		for key, texts := range s.Label {
			for _, text := range texts {
				bytes += int64(len(key)+len(text)) + 2
			}
		}
	}
	return bytes
}
