// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package selector_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// What is wanted of things with no value of the key, with one, and with several.
func TestWants(t *testing.T) {
	for name, test := range map[string]struct {
		text                string
		negated, expression bool
		operator            string
		// values that are wanted, and that are not; absent says whether nothing is.
		wanted, unwanted []string
		absent           bool
	}{
		"equal":             {"a", false, false, "=", []string{"a"}, []string{"", "aa", "b"}, false},
		"not equal":         {"a", true, false, "!=", []string{"", "aa", "b"}, []string{"a"}, true},
		"matches":           {"a|b.", false, true, "=~", []string{"a", "bc"}, []string{"", "ab", "xa", "b"}, false},
		"does not match":    {"a|b.", true, true, "!~", []string{"", "ab", "xa", "b"}, []string{"a", "bc"}, true},
		"matches nothing":   {"a*", false, true, "=~", []string{"", "aa"}, []string{"b", "a\nb"}, true},
		"something":         {".+", false, true, "=~", []string{"a"}, []string{""}, false},
		"more than a line":  {"(?s)a.b", false, true, "=~", []string{"a\nb"}, []string{"a\nb\n"}, false},
		"ends of its lines": {"(?m)^a$", false, true, "=~", []string{"a"}, []string{"a\na"}, false},
		"long values":       {"a+", true, true, "!~", []string{strings.Repeat("a", selector.MaxText+1)}, []string{strings.Repeat("a", selector.MaxText)}, true},
	} {
		s, err := selector.New("k", test.text, test.negated, test.expression)
		require.NoError(t, err, name)
		assert.Equal(t, test.operator, s.Operator(), name)
		assert.Equal(t, !test.absent, s.NeedsKey(), name)
		for range 2 { // what is remembered is the same
			for _, value := range test.wanted {
				assert.True(t, s.Wants(true, s.Names([]byte(value))), "%s: %.20q", name, value)
			}
			for _, value := range test.unwanted {
				assert.False(t, s.Wants(true, s.Names([]byte(value))), "%s: %.20q", name, value)
			}
		}
		assert.Equal(t, test.absent, s.Wants(false, false), name)
	}
}

// Of many values all are matched, also those that are not remembered.
func TestManyValues(t *testing.T) {
	s, err := selector.New("k", "[0-9]*[02468]", false, true)
	require.NoError(t, err)
	for range 2 {
		for i := range 1000 {
			assert.Equal(t, i%2 == 0, s.Names([]byte(strconv.Itoa(i))))
		}
	}
}

// A value is matched once, even if there are many values.
func TestValuesAreRemembered(t *testing.T) {
	s, err := selector.New("k", ".*0|b{150}", false, true)
	require.NoError(t, err)
	for range 30 { // If all were matched each time, this would be too much work.
		for i := range 1000 {
			value := strings.Repeat("a", 32) + strconv.Itoa(i)
			assert.Equal(t, i%10 == 0, s.Names([]byte(value)))
		}
		assert.False(t, s.Wants(false, false))
	}
	require.NoError(t, selector.Check([]selector.Selector{s}))
}

// The work of all selectors counts. Afterwards no value is matched.
func TestCheck(t *testing.T) {
	wanted := make([]selector.Selector, 2)
	for i := range wanted {
		var err error
		wanted[i], err = selector.New("k", strings.Repeat("y", 400)+".*", false, true)
		require.NoError(t, err)
	}
	matches := 0
	for ; selector.Check(wanted) == nil; matches++ {
		value := []byte(strings.Repeat("y", 500) + strconv.Itoa(matches))
		assert.True(t, wanted[0].Names(value))
		assert.True(t, wanted[1].Names(value))
	}
	assert.InDelta(t, selector.MaxWork/2/(404*504), matches, 20)
	require.ErrorIs(t, selector.Check(wanted), selector.ErrExpensive)
	require.ErrorContains(t, selector.Check(wanted), "more than 268435456 steps")
}

func TestNewRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"(":                       "cannot read the regular expression",
		"a)|(b":                   "cannot read the regular expression",
		"(abcd{30}){30}":          "has more than 500 steps",
		strings.Repeat("a", 1025): "has 1025 bytes, at most 1024 are taken",
		`\C`:                      "cannot read the regular expression",
	} {
		_, err := selector.New("k", text, false, true)
		assert.ErrorContains(t, err, want)
		_, err = selector.New("k", text, false, false)
		assert.NoError(t, err, "a text is not read")
	}
}
