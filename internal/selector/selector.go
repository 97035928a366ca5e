// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selector selects attributes or labels: those that are equal to a text or match a regular expression, or those that
// do not.
package selector // import "github.com/otelpprof/otelpprof/internal/selector"

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Selector selects by the value of a key. The zero operator is equality with Text. [New] makes the others.
type Selector struct {
	Key  string
	Text string
	// negated inverts the result. matches is true if the text is an expression.
	negated, matches bool
	// expression matches whole values. It is nil until it is compiled. known has its results for some values, knownBytes is its size.
	expression *regexp.Regexp
	known      map[string]bool
	knownBytes int
	// steps is the number of steps of the expression, and work the sum of the steps of all matches.
	steps int
	work  int64
}

// The bounds of expressions.
const (
	// MaxSteps is how many steps one may have, its repetitions written out.
	MaxSteps = 500
	// MaxExpression is how many bytes one may have.
	MaxExpression = 1024
	// MaxText is how long a value may be that an expression can match.
	MaxText = 512
	// maxKnown is how many bytes the remembered values may take: most come again and again. A value takes valueBytes beside its text.
	maxKnown   = 128 << 10
	valueBytes = 80
	// MaxWork is how many steps the expressions of a request may make together. They take two to three seconds.
	MaxWork = 1 << 28
	// Bytes is what an expression takes of memory, from when it is used.
	Bytes = 256 << 10
)

// New returns a selector, which is not safe for concurrent use. With expression, text is a regular expression that must match the whole value.
func New(key, text string, negated, expression bool) (Selector, error) {
	s := Selector{Key: key, Text: text, negated: negated, matches: expression}
	if !expression {
		return s, nil
	}
	if len(text) > MaxExpression {
		return s, fmt.Errorf("the regular expression has %d bytes, at most %d are taken", len(text), MaxExpression)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return s, fmt.Errorf("cannot read the regular expression %.40q: %w", text, err)
	}
	if s.steps = Steps(parsed, MaxSteps); s.steps > MaxSteps {
		return s, fmt.Errorf("the regular expression %.40q has more than %d steps", text, MaxSteps)
	}
	if _, err = syntax.Parse(whole(text), syntax.Perl); err != nil {
		return s, fmt.Errorf("cannot read the regular expression %.40q: %w", text, err)
	}
	return s, nil
}

// whole returns an expression that matches all of a value.
func whole(text string) string { return `\A(?:` + text + `)\z` }

// match tells whether the expression matches a value. It is compiled for the first one.
func (s *Selector) match(value []byte) bool {
	if s.expression == nil {
		s.expression, s.known = regexp.MustCompile(whole(s.Text)), map[string]bool{} // It was parsed before.
	}
	s.work += int64(s.steps) * int64(len(value)+1)
	return s.work <= MaxWork && s.expression.Match(value)
}

// ErrExpensive is the error for expressions that make more than MaxWork steps.
var ErrExpensive = errors.New("the regular expressions of attributes or labels are too expensive")

// Check returns [ErrExpensive] if the selectors have made more than MaxWork steps: each byte of a value can take all steps of an
// expression, and a value that is remembered takes none. Results after that are wrong.
func Check(wanted []Selector) error {
	work := int64(0)
	for i := range wanted {
		work += wanted[i].work
	}
	if work > MaxWork {
		return fmt.Errorf("%w: they take more than %d steps for the values in memory; write shorter ones or select a shorter time", ErrExpensive, MaxWork)
	}
	return nil
}

// Steps returns how many steps a regular expression has, its repetitions written out, and a number above most where they are
// more than that.
func Steps(expression *syntax.Regexp, most int) int {
	n := 1 + len(expression.Rune)
	for _, part := range expression.Sub {
		n += Steps(part, most)
	}
	if expression.Op == syntax.OpRepeat {
		n *= max(expression.Min, expression.Max, 1)
	}
	return min(n, most+1)
}

// IsExpression tells whether the selector has a regular expression.
func (s *Selector) IsExpression() bool { return s.matches }

// Negated tells whether the answer of the selector is turned over.
func (s *Selector) Negated() bool { return s.negated }

// Operator is how the selector is written between its key and its text.
func (s *Selector) Operator() string {
	switch {
	case !s.matches && s.negated:
		return "!="
	case !s.matches:
		return "="
	case s.negated:
		return "!~"
	}
	return "=~"
}

// Wants returns whether the selector selects something. has is true if it has a value of the key, and named if one of its values
// is selected. Without a value, it is treated like an empty value, except that no text equals it.
func (s *Selector) Wants(has, named bool) bool {
	if !has {
		named = s.matches && s.Names(nil)
	}
	return named != s.negated
}

// Names tells whether a value is the one that the selector names, wanted or not.
func (s *Selector) Names(value []byte) bool {
	if !s.matches {
		return string(value) == s.Text
	}
	if len(value) > MaxText {
		return false
	}
	named, known := s.known[string(value)]
	if !known {
		named = s.match(value)
		if size := len(value) + valueBytes; s.knownBytes+size <= maxKnown {
			s.known[string(value)] = named
			s.knownBytes += size
		}
	}
	return named
}

// NeedsKey tells whether only what has the key can be wanted.
func (s *Selector) NeedsKey() bool { return !s.Wants(false, false) }
