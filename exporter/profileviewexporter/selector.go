// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// scope says where a selector looks for its key.
type scope int

// The scopes.
const (
	// anyScope is a label of the resource, or of the sample if the resource does not have it.
	anyScope scope = iota
	// attributeScope is an attribute of the resource.
	attributeScope
	// sampleScope is a label of the sample.
	sampleScope
)

// selector selects profiles and samples by the value of a label or attribute: those that are equal to a text or match a regular expression,
// or those that do not. It is not safe for concurrent use.
type selector struct {
	scope scope
	key   string
	// text is the value or the regular expression. negated inverts the result.
	text              string
	negated, isRegexp bool
	// ids are lower case IDs, one of which must be the value, in any case. Then there is no text.
	ids []string
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
	// maxExpressionSteps limits the steps of an expression, with its repetitions expanded.
	maxExpressionSteps = 500
	// maxExpression limits its bytes.
	maxExpression = 1024
	// maxValue limits the bytes of a value that an expression can match.
	maxValue = 512
	// maxKnown limits the bytes of the remembered results. knownBytes is the memory of one beside its text.
	maxKnown   = 128 << 10
	knownBytes = 80
	// maxWork limits the steps that the expressions of a request make together. They take two to three seconds.
	maxWork = 1 << 28
	// expressionBytes is the memory of an expression.
	expressionBytes = 256 << 10
	// maxSelectors and maxExpressions limit the selectors of a request.
	maxSelectors, maxExpressions = 32, 8
	// maxIDs limits the IDs of traces, and those of spans.
	maxIDs = 100
)

// newSelector returns a selector. With isRegexp, text is a regular expression that must match the whole value.
func newSelector(scope scope, key, text string, negated, isRegexp bool) (selector, error) {
	s := selector{scope: scope, key: key, text: text, negated: negated, isRegexp: isRegexp}
	if !isRegexp {
		return s, nil
	}
	if len(text) > maxExpression {
		return s, invalid("the regular expression of %.40q has %d bytes, the limit is %d", key, len(text), maxExpression)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		_, err = syntax.Parse(whole(text), syntax.Perl)
	}
	if err != nil {
		return s, invalid("cannot read the regular expression %.40q: %v", text, err)
	}
	if s.steps = steps(parsed); s.steps > maxExpressionSteps {
		return s, invalid("the regular expression %.40q has more than %d steps", text, maxExpressionSteps)
	}
	return s, nil
}

// limitSelectors returns an error if a request has too many selectors.
func limitSelectors(all []selector) error {
	expressions := 0
	for i := range all {
		if all[i].isRegexp {
			expressions++
		}
	}
	switch {
	case len(all) > maxSelectors:
		return invalid("%d selectors are given, the limit is %d", len(all), maxSelectors)
	case expressions > maxExpressions:
		return invalid("%d regular expressions are given, the limit is %d", expressions, maxExpressions)
	}
	return nil
}

// matches returns whether the selector selects something whose key has these values. No value is like an empty value.
func (s *selector) matches(values ...string) bool {
	if len(values) == 0 {
		return s.has("") != s.negated
	}
	return slices.ContainsFunc(values, s.has) != s.negated
}

// has returns whether a value is equal to the text or matches the expression.
func (s *selector) has(value string) bool {
	switch {
	case s.ids != nil:
		return slices.Contains(s.ids, strings.ToLower(value))
	case !s.isRegexp:
		return value == s.text
	case len(value) > maxValue:
		return false
	}
	matches, known := s.known[value]
	if !known {
		if s.expression == nil {
			s.expression, s.known = regexp.MustCompile(whole(s.text)), map[string]bool{} // It was parsed before.
		}
		s.work += int64(s.steps) * int64(len(value)+1)
		matches = s.work <= maxWork && s.expression.MatchString(value)
		if size := len(value) + knownBytes; s.knownBytes+size <= maxKnown {
			s.known[value] = matches
			s.knownBytes += size
		}
	}
	return matches
}

// whole returns an expression that matches all of a value.
func whole(text string) string { return `\A(?:` + text + `)\z` }

// steps returns the number of steps of an expression with its repetitions expanded, or a number above maxExpressionSteps.
func steps(expression *syntax.Regexp) int {
	n := 1 + len(expression.Rune)
	for _, part := range expression.Sub {
		n += steps(part)
	}
	if expression.Op == syntax.OpRepeat {
		n *= max(expression.Min, expression.Max, 1)
	}
	return min(n, maxExpressionSteps+1)
}

// matcher is one selector: a name, which is quoted if it has other characters, an operator, and a quoted text.
var matcher = regexp.MustCompile(`^([\w.:/-]+|` + quotedText + `)\s*(=~|!~|!=|=)\s*(` + quotedText + `)\s*(,|$)\s*`)

const quotedText = `"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`"

// braces are around selectors. A profile, or the ID of its type, can be before them.
var braces = regexp.MustCompile(`(?s)^([\w.:/-]*)\s*\{(.*)\}$`)

// singleQuoted changes the quotes of a text from single to double ones.
var singleQuoted = strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `"`, `\"`)

// unquote reads a text in quotes as Prometheus does: Go has only single characters in single quotes. A text without quotes stays.
func unquote(text string) (string, error) {
	switch text[0] {
	case '"', '`':
		return strconv.Unquote(text)
	case '\'':
		return strconv.Unquote(`"` + singleQuoted.Replace(text[1:len(text)-1]) + `"`)
	}
	return text, nil
}

// parseSelectors reads selectors as Pyroscope and Prometheus write them: {service_name="shop",pod=~"a.*"}, or process_cpu{pod='a'}. An empty
// text selects everything.
func parseSelectors(text string) (all []selector, err error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, nil
	}
	parts := braces.FindStringSubmatch(rest)
	if parts == nil {
		return nil, invalid("%.100q does not begin with { and end with }", text)
	}
	if profile := parts[1]; strings.Contains(profile, ":") {
		all = []selector{{key: labelProfileType, text: profile}}
	} else if profile != "" {
		all = []selector{{key: labelName, text: profile}}
	}
	for rest = strings.TrimSpace(parts[2]); rest != ""; {
		parts := matcher.FindStringSubmatch(rest)
		if parts == nil {
			return nil, invalid(`want one such as pod=~"a.*", and a comma before the next, not %.100q`, rest)
		}
		key, keyErr := unquote(parts[1])
		value, err := unquote(parts[3])
		if cmp.Or(keyErr, err) != nil {
			return nil, invalid("cannot read the quoted text in %.100q", parts[0])
		}
		one, err := newSelector(anyScope, key, value, parts[2][0] == '!', strings.HasSuffix(parts[2], "~"))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		rest = rest[len(parts[0]):]
	}
	return all, nil
}
