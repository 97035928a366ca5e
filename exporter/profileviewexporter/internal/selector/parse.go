// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package selector

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads selectors as Pyroscope and Prometheus write them: {service_name="shop",pod=~"a.*"}. An empty text selects everything.
func Parse(text string) (all []Selector, err error) {
	p := parser{text: text}
	p.space()
	if p.done() {
		return nil, nil
	}
	if !p.take("{") {
		return nil, p.fault("it does not begin with {")
	}
	for p.space(); !p.take("}"); p.space() {
		s, err := p.selector()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if p.space(); !p.take(",") && !strings.HasPrefix(p.rest(), "}") {
			return nil, p.fault("a comma or } is missing")
		}
	}
	if p.space(); !p.done() {
		return nil, p.fault("there is text after }")
	}
	return all, Limit(all)
}

type parser struct {
	text string
	at   int
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) done() bool { return p.at == len(p.text) }

func (p *parser) space() { p.at = len(p.text) - len(strings.TrimLeft(p.rest(), " \t\r\n")) }

// take skips a token, and returns whether it was there.
func (p *parser) take(token string) bool {
	found := strings.HasPrefix(p.rest(), token)
	if found {
		p.at += len(token)
	}
	return found
}

func (p *parser) fault(reason string) error {
	return fmt.Errorf("%w: %.100q: %s at position %d", ErrInvalid, p.text, reason, p.at+1)
}

// selector reads one selector.
func (p *parser) selector() (Selector, error) {
	key, err := p.key()
	if err != nil {
		return Selector{}, err
	}
	p.space()
	operator := ""
	for _, one := range []string{"=~", "!~", "!=", "="} {
		if p.take(one) {
			operator = one
			break
		}
	}
	if operator == "" {
		return Selector{}, p.fault("one of =, !=, =~ and !~ is missing")
	}
	p.space()
	value, err := p.quoted()
	if err != nil {
		return Selector{}, err
	}
	return New(Any, key, value, operator[0] == '!', operator[len(operator)-1] == '~')
}

// key reads a name, which is quoted if it has other characters than letters, digits, and some signs.
func (p *parser) key() (string, error) {
	if strings.HasPrefix(p.rest(), `"`) {
		return p.quoted()
	}
	end := strings.IndexFunc(p.rest(), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-/:", r)
	})
	if end <= 0 {
		return "", p.fault("a name is missing")
	}
	key := p.rest()[:end]
	p.at += end
	return key, nil
}

// quoted reads a string as Go writes it.
func (p *parser) quoted() (string, error) {
	quoted, err := strconv.QuotedPrefix(p.rest())
	if err != nil {
		return "", p.fault("a quoted text is missing or does not end")
	}
	p.at += len(quoted)
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return "", p.fault("a quoted text cannot be read")
	}
	return text, nil
}
