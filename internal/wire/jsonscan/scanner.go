// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonscan reads JSON in place: without copies, without an object for each value, and no deeper than a limit. The caller
// says what it expects, and skips what it does not know.
package jsonscan // import "github.com/otelpprof/otelpprof/internal/wire/jsonscan"

import (
	"bytes"
	"fmt"
)

// maxDepth is how deep values may be nested.
const maxDepth = 100

// Scanner reads one text. It does not change it.
type Scanner struct {
	Text []byte
	// At is where the next byte is read.
	At int
	// Malformed is wrapped by all errors.
	Malformed error
	// Continue, if set, is called while values are read, about once for every 64 KiB. Its error ends the scan and is returned unchanged.
	Continue func() error
	depth    int
	// part is the part of the text, of continueBytes, for which Continue was called last.
	part int
}

const continueBytes = 64 << 10

// progress calls Continue in each part of the text but the first. The caller can set At to any position.
func (s *Scanner) progress() error {
	if s.Continue == nil || s.part == s.At/continueBytes {
		return nil
	}
	s.part = s.At / continueBytes
	return s.Continue()
}

// Peek returns the next byte that is no white space, or 0 at the end.
func (s *Scanner) Peek() byte {
	if s.At < len(s.Text) && s.Text[s.At] > ' ' {
		return s.Text[s.At] // Short enough to be inlined.
	}
	return s.afterSpace()
}

func (s *Scanner) afterSpace() byte {
	for ; s.At < len(s.Text); s.At++ {
		switch c := s.Text[s.At]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", s.Malformed, fmt.Sprintf(format, args...))
}

// Unexpected returns the error for input that is not as wanted.
func (s *Scanner) Unexpected(wanted string) error {
	if s.At >= len(s.Text) {
		return s.malformed("byte %d: the message ends, want %s", s.At, wanted)
	}
	return s.malformed("byte %d: %q, want %s", s.At, s.Text[s.At], wanted)
}

// Word skips null, true or false, if that is next.
func (s *Scanner) Word(word string) bool {
	s.Peek()
	if !bytes.HasPrefix(s.Text[s.At:], []byte(word)) {
		return false
	}
	s.At += len(word)
	return true
}

// Object reads an object, or null, calling f for each of its keys, with its escapes. f reads the value.
func (s *Scanner) Object(f func(key []byte) error) error {
	return s.within('{', '}', func() error {
		key, err := s.Literal()
		if err != nil {
			return err
		}
		if s.Peek() != ':' {
			return s.Unexpected("a colon")
		}
		s.At++
		return f(key)
	})
}

// Array reads an array, or null, calling f for each of its values.
func (s *Scanner) Array(f func() error) error { return s.within('[', ']', f) }

func (s *Scanner) within(open, end byte, element func() error) error {
	if s.Peek() != open {
		if s.Word("null") {
			return nil
		}
		return s.Unexpected(string(open))
	}
	s.At++
	if s.depth++; s.depth > maxDepth {
		return s.malformed("byte %d: nested deeper than %d", s.At, maxDepth)
	}
	if s.Peek() != end {
		if err := s.elements(end, element); err != nil {
			return err
		}
	}
	s.At++
	s.depth--
	return nil
}

// elements reads one or more elements separated by commas.
func (s *Scanner) elements(end byte, element func() error) error {
	for {
		if err := element(); err != nil {
			return err
		}
		if err := s.progress(); err != nil {
			return err
		}
		switch s.Peek() {
		case end:
			return nil
		case ',':
			s.At++
		default:
			return s.Unexpected("a comma")
		}
	}
}

// Skip skips a value. It is recursive, up to [maxDepth].
func (s *Scanner) Skip() error {
	switch c := s.Peek(); {
	case c == '{':
		return s.Object(func([]byte) error { return s.Skip() })
	case c == '[':
		return s.Array(s.Skip)
	case c == '"':
		_, err := s.Literal()
		return err
	case s.Number(), s.Word("null"), s.Word("true"), s.Word("false"):
		return nil
	default:
		return s.Unexpected("a value")
	}
}

// Literal reads a string and returns the text between its quotes, with its escapes.
func (s *Scanner) Literal() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Unexpected("a string")
	}
	s.At++
	for start := s.At; s.At < len(s.Text); s.At++ {
		switch c := s.Text[s.At]; {
		case c == '"':
			s.At++
			return s.Text[start : s.At-1], nil
		case c < ' ':
			return nil, s.Unexpected("an escape")
		case c == '\\' && !s.escape():
			return nil, s.Unexpected("an escape that exists")
		}
	}
	return nil, s.Unexpected("a quote")
}

// escape goes to the last byte of an escape.
func (s *Scanner) escape() bool {
	s.At++
	switch {
	case s.At >= len(s.Text):
		return false
	case s.Text[s.At] != 'u':
		return bytes.IndexByte([]byte(`"\/bfnrt`), s.Text[s.At]) >= 0
	}
	for range 4 {
		if s.At++; s.At >= len(s.Text) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), s.Text[s.At]) < 0 {
			return false
		}
	}
	return true
}

// Number skips a number, if that is next.
func (s *Scanner) Number() bool {
	s.Peek()
	s.is('-')
	if !s.is('0') && !s.digits() {
		return false
	}
	if s.is('.') && !s.digits() {
		return false
	}
	if s.is('e') || s.is('E') {
		if !s.is('+') {
			s.is('-')
		}
		return s.digits()
	}
	return true
}

// is skips a byte, if that is next.
func (s *Scanner) is(c byte) bool {
	if s.At >= len(s.Text) || s.Text[s.At] != c {
		return false
	}
	s.At++
	return true
}

func (s *Scanner) digits() bool {
	start := s.At
	for s.At < len(s.Text) && '0' <= s.Text[s.At] && s.Text[s.At] <= '9' {
		s.At++
	}
	return s.At > start
}

// End returns an error unless nothing but white space is left.
func (s *Scanner) End() error {
	if s.Peek(); s.At < len(s.Text) {
		return s.Unexpected("the end")
	}
	return nil
}
