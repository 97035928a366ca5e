// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package selector

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
