// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selector selects profiles and samples by labels and attributes: those that are equal to a text or match a regular
// expression, or those that do not.
package selector // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Scope says where a selector looks for its key.
type Scope int

// The scopes.
const (
	// Any is a label of the resource, or of the sample if the resource does not have it.
	Any Scope = iota
	// Attribute is an attribute of the resource.
	Attribute
	// Sample is a label of the sample.
	Sample
)

// Selector selects by the value of a key. It is not safe for concurrent use.
type Selector struct {
	Scope Scope
	Key   string
	// text is the value or the regular expression. negated inverts the result.
	text              string
	negated, isRegexp bool
	// expression matches whole values. It is nil until it is compiled. known has its results for some values, knownBytes is its size.
	expression *regexp.Regexp
	known      map[string]bool
	knownBytes int
	// steps is the number of steps of the expression, and work the sum of the steps of all matches.
	steps int
	work  int64
}

// The limits of selectors.
const (
	// maxSteps limits the steps of an expression, with its repetitions expanded.
	maxSteps = 500
	// maxExpression limits its bytes.
	maxExpression = 1024
	// maxText limits the bytes of a value that an expression can match.
	maxText = 512
	// maxKnown limits the bytes of the remembered results. valueBytes is the memory of one beside its text.
	maxKnown   = 128 << 10
	valueBytes = 80
	// maxWork limits the steps that the expressions of a request make together. They take two to three seconds.
	maxWork = 1 << 28
	// expressionBytes is the memory of an expression.
	expressionBytes = 256 << 10
	// maxSelectors and maxExpressions limit the selectors of a request.
	maxSelectors, maxExpressions = 32, 8
)

var (
	// ErrInvalid is the error for a selector that cannot be read.
	ErrInvalid = errors.New("the selector is invalid")
	// ErrExpensive is the error for expressions that make too many steps.
	ErrExpensive = errors.New("the regular expressions are too expensive")
)

// New returns a selector. With isRegexp, text is a regular expression that must match the whole value.
func New(scope Scope, key, text string, negated, isRegexp bool) (Selector, error) {
	s := Selector{Scope: scope, Key: key, text: text, negated: negated, isRegexp: isRegexp}
	if !isRegexp {
		return s, nil
	}
	if len(text) > maxExpression {
		return s, fmt.Errorf("%w: the regular expression of %.40q has %d bytes, the limit is %d", ErrInvalid, key, len(text), maxExpression)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		_, err = syntax.Parse(whole(text), syntax.Perl)
	}
	if err != nil {
		return s, fmt.Errorf("%w: cannot read the regular expression %.40q: %w", ErrInvalid, text, err)
	}
	if s.steps = steps(parsed); s.steps > maxSteps {
		return s, fmt.Errorf("%w: the regular expression %.40q has more than %d steps", ErrInvalid, text, maxSteps)
	}
	return s, nil
}

// Limit returns an error if a request has too many selectors.
func Limit(all []Selector) error {
	switch expressions := Bytes(all) / expressionBytes; {
	case len(all) > maxSelectors:
		return fmt.Errorf("%w: %d selectors are given, the limit is %d", ErrInvalid, len(all), maxSelectors)
	case expressions > maxExpressions:
		return fmt.Errorf("%w: %d regular expressions are given, the limit is %d", ErrInvalid, expressions, maxExpressions)
	}
	return nil
}

// Bytes returns the memory of the regular expressions.
func Bytes(all []Selector) (bytes int64) {
	for i := range all {
		if all[i].isRegexp {
			bytes += expressionBytes
		}
	}
	return bytes
}

// Check returns [ErrExpensive] if the selectors have made too many steps: each byte of a value can take all steps of an expression.
// Results after that are wrong.
func Check(all []Selector) error {
	work := int64(0)
	for i := range all {
		work += all[i].work
	}
	if work > maxWork {
		return fmt.Errorf("%w: they take more than %d steps for the values in memory; write shorter ones or select a shorter time", ErrExpensive, maxWork)
	}
	return nil
}

// Matches returns whether the selector selects something whose key has these values. No value is like an empty value.
func (s *Selector) Matches(values ...string) bool {
	if len(values) == 0 {
		return s.has("") != s.negated
	}
	return slices.ContainsFunc(values, s.has) != s.negated
}

// has returns whether a value is equal to the text or matches the expression.
func (s *Selector) has(value string) bool {
	if !s.isRegexp {
		return value == s.text
	}
	if len(value) > maxText {
		return false
	}
	matches, known := s.known[value]
	if !known {
		matches = s.match(value)
		if size := len(value) + valueBytes; s.knownBytes+size <= maxKnown {
			s.known[value] = matches
			s.knownBytes += size
		}
	}
	return matches
}

func (s *Selector) match(value string) bool {
	if s.expression == nil {
		s.expression, s.known = regexp.MustCompile(whole(s.text)), map[string]bool{} // New has parsed it.
	}
	s.work += int64(s.steps) * int64(len(value)+1)
	return s.work <= maxWork && s.expression.MatchString(value)
}

// whole returns an expression that matches all of a value.
func whole(text string) string { return `\A(?:` + text + `)\z` }

// steps returns the number of steps of an expression with its repetitions expanded, or a number above maxSteps.
func steps(expression *syntax.Regexp) int {
	n := 1 + len(expression.Rune)
	for _, part := range expression.Sub {
		n += steps(part)
	}
	if expression.Op == syntax.OpRepeat {
		n *= max(expression.Min, expression.Max, 1)
	}
	return min(n, maxSteps+1)
}

// matcher is one selector: a name, which is quoted if it has other characters, an operator, and a string as Go writes it.
var matcher = regexp.MustCompile(`^([\w.:/-]+|` + quotedText + `)\s*(=~|!~|!=|=)\s*(` + quotedText + "|`[^`]*`" + `)\s*(,|$)\s*`)

const quotedText = `"(?:[^"\\]|\\.)*"`

// Parse reads selectors as Pyroscope and Prometheus write them: {service_name="shop",pod=~"a.*"}. An empty text selects everything.
func Parse(text string) (all []Selector, err error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, nil
	}
	if !strings.HasPrefix(rest, "{") || !strings.HasSuffix(rest, "}") || len(rest) == 1 {
		return nil, fmt.Errorf("%w: %.100q does not begin with { and end with }", ErrInvalid, text)
	}
	for rest = strings.TrimSpace(rest[1 : len(rest)-1]); rest != ""; {
		parts := matcher.FindStringSubmatch(rest)
		if parts == nil {
			return nil, fmt.Errorf(`%w: want one such as pod=~"a.*", and a comma before the next, not %.100q`, ErrInvalid, rest)
		}
		key, operator, value := parts[1], parts[2], parts[3]
		if key[0] == '"' {
			key, err = strconv.Unquote(key)
		}
		if err == nil {
			value, err = strconv.Unquote(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: cannot read the quoted text in %.100q", ErrInvalid, parts[0])
		}
		one, err := New(Any, key, value, operator[0] == '!', strings.HasSuffix(operator, "~"))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		rest = rest[len(parts[0]):]
	}
	return all, Limit(all)
}
