// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"größer 価格":              "größer 価格",
		"a\r\nb\tc":              "a  b c",
		"\x1b[2J\x00\x7f":        "\ufffd[2J\ufffd\ufffd",
		"a\u202eb\u2028c\u0085d": "a\ufffdb c d",
		"a\xff\xfe":              "a\ufffd\ufffd",
		"12345678901":            "1234567890…",
		"1234567890":             "1234567890",
		"ää\u202eääääääää":       "ää\ufffdäääääää…",
	} {
		assert.Equal(t, want, Line(text, 10), "%q", text)
	}
	assert.Equal(t, 200, utf8.RuneCountInString(Line(strings.Repeat("価", 1<<20), 199)))
}
