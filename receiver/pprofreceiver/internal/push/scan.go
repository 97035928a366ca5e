// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import "bytes"

// maxDepth is how deep values may be nested.
const maxDepth = 100

// scanner reads JSON in place, without copies.
type scanner struct {
	text  []byte
	at    int
	depth int
}

// peek returns the next byte that is no white space, or 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// unexpected returns the error for input that is not as wanted.
func (s *scanner) unexpected(wanted string) error {
	if s.at >= len(s.text) {
		return malformed("byte %d: the message ends, want %s", s.at, wanted)
	}
	return malformed("byte %d: %q, want %s", s.at, s.text[s.at], wanted)
}

// word skips null, true or false, if that is next.
func (s *scanner) word(word string) bool {
	s.peek()
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

// object reads an object, or null, calling f for each of its keys. f reads the value.
func (s *scanner) object(f func(key []byte) error) error {
	return s.within('{', '}', func() error {
		key, err := s.literal()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected("a colon")
		}
		s.at++
		return f(unescape(key))
	})
}

// array reads an array, or null, calling f for each of its values.
func (s *scanner) array(f func() error) error { return s.within('[', ']', f) }

func (s *scanner) within(open, end byte, element func() error) error {
	if s.word("null") {
		return nil
	}
	if s.peek() != open {
		return s.unexpected(string(open))
	}
	s.at++
	if s.depth++; s.depth > maxDepth {
		return malformed("byte %d: nested deeper than %d", s.at, maxDepth)
	}
	for first := true; s.peek() != end; first = false {
		if !first {
			if s.peek() != ',' {
				return s.unexpected("a comma")
			}
			s.at++
		}
		if err := element(); err != nil {
			return err
		}
	}
	s.at++
	s.depth--
	return nil
}

// skip skips a value. It is recursive, up to [maxDepth].
func (s *scanner) skip() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(func([]byte) error { return s.skip() })
	case c == '[':
		return s.array(s.skip)
	case c == '"':
		_, err := s.literal()
		return err
	case s.word("null"), s.word("true"), s.word("false"), s.number():
		return nil
	default:
		return s.unexpected("a value")
	}
}

// literal reads a string and returns the text between its quotes, with its escapes.
func (s *scanner) literal() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.unexpected("a string")
	}
	s.at++
	for start := s.at; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1], nil
		case c < ' ':
			return nil, s.unexpected("an escape")
		case c == '\\' && !s.escape():
			return nil, s.unexpected("an escape that exists")
		}
	}
	return nil, s.unexpected("a quote")
}

// escape goes to the last byte of an escape.
func (s *scanner) escape() bool {
	s.at++
	switch {
	case s.at >= len(s.text):
		return false
	case s.text[s.at] != 'u':
		return bytes.IndexByte([]byte(`"\/bfnrt`), s.text[s.at]) >= 0
	}
	for range 4 {
		if s.at++; s.at >= len(s.text) || hexValue(s.text[s.at]) < 0 {
			return false
		}
	}
	return true
}

// number skips a number, if that is next.
func (s *scanner) number() bool {
	s.peek()
	s.oneOf("-")
	if !s.oneOf("0") && !s.digits() {
		return false
	}
	if s.oneOf(".") && !s.digits() {
		return false
	}
	if s.oneOf("eE") {
		s.oneOf("+-")
		return s.digits()
	}
	return true
}

func (s *scanner) oneOf(set string) bool {
	if s.at >= len(s.text) || bytes.IndexByte([]byte(set), s.text[s.at]) < 0 {
		return false
	}
	s.at++
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.oneOf("0123456789") {
	}
	return s.at > start
}

// hexValue is the value of a hexadecimal digit, negative if it is none.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
}

// notASCII stands for what is neither in a name nor in base64.
const notASCII = 0x7f

// unescape replaces the escapes in raw, which [scanner.literal] has checked, in place. Those that mean no
// printable character of ASCII and no line end become notASCII.
func unescape(raw []byte) []byte {
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		return raw
	}
	for i := n; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' {
			i++
			switch c = raw[i]; c {
			case '"', '\\', '/':
			case 'n', 'r':
				c = '\n'
			case 'u':
				value := 0
				for _, digit := range raw[i+1 : i+5] {
					value = value<<4 | hexValue(digit)
				}
				c = byte(min(value, notASCII))
				i += 4
			default:
				c = notASCII
			}
		}
		raw[n] = c
		n++
	}
	return raw[:n]
}
