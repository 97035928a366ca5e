// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMatches(t *testing.T) {
	for name, test := range map[string]struct {
		text              string
		negated, isRegexp bool
		matching, others  []string
		absent            bool
	}{
		"equal":             {"a", false, false, []string{"a"}, []string{"", "aa", "b"}, false},
		"not equal":         {"a", true, false, []string{"", "aa", "b"}, []string{"a"}, true},
		"empty":             {"", false, false, []string{""}, []string{"a"}, true},
		"matches":           {"a|b.", false, true, []string{"a", "bc"}, []string{"", "ab", "xa", "b"}, false},
		"does not match":    {"a|b.", true, true, []string{"", "ab", "xa", "b"}, []string{"a", "bc"}, true},
		"matches nothing":   {"a*", false, true, []string{"", "aa"}, []string{"b", "a\nb"}, true},
		"more than a line":  {"(?s)a.b", false, true, []string{"a\nb"}, []string{"a\nb\n"}, false},
		"ends of its lines": {"(?m)^a$", false, true, []string{"a"}, []string{"a\na"}, false},
		"long values":       {"a+", true, true, []string{strings.Repeat("a", 513)}, []string{strings.Repeat("a", 512)}, true},
	} {
		s, err := newSelector(anyScope, "k", test.text, test.negated, test.isRegexp)
		require.NoError(t, err, name)
		for range 2 { // what is remembered is the same
			for _, value := range test.matching {
				assert.True(t, s.matches(value), "%s: %.20q", name, value)
			}
			for _, value := range test.others {
				assert.False(t, s.matches(value), "%s: %.20q", name, value)
			}
		}
		assert.Equal(t, test.absent, s.matches(), name)
	}
}

// A value is matched once, even if there are many values. Those that are not remembered have the same results.
func TestValuesAreRemembered(t *testing.T) {
	s := must.Get(newSelector(anyScope, "k", ".*0|b{150}", false, true))(t)
	for range 30 { // If all were matched each time, this would be too much work.
		for i := range 1000 {
			assert.Equal(t, i%10 == 0, s.matches(strings.Repeat("a", 32)+strconv.Itoa(i)))
		}
	}
	require.NoError(t, (&filter{selectors: []selector{s}}).err())
}

// The work of all selectors counts.
func TestCheck(t *testing.T) {
	one := must.Get(newSelector(anyScope, "k", strings.Repeat("y", 400)+".*", false, true))(t)
	all := filter{selectors: []selector{one, one}}
	matches := 0
	for ; all.err() == nil; matches++ {
		value := strings.Repeat("y", 500) + strconv.Itoa(matches)
		assert.True(t, all.selectors[0].matches(value))
		assert.True(t, all.selectors[1].matches(value))
	}
	assert.InDelta(t, 1<<27/(404*504), matches, 20)
}

func TestParse(t *testing.T) {
	all := must.Get(parseSelectors(` { service_name = "sh\"op" , k8s.pod.name=~` + "`a.*`" + `,"a b"!="c",x!~"y", } `))(t)
	require.Len(t, all, 4)
	for i, key := range []string{"service_name", "k8s.pod.name", "a b", "x"} {
		assert.Equal(t, key, all[i].key)
	}
	assert.True(t, all[0].matches(`sh"op`))
	assert.True(t, all[1].matches("ab"))
	assert.False(t, all[2].matches("c"))
	assert.False(t, all[3].matches("y"))
	for text, want := range map[string]string{ // as Prometheus and the clients of Pyroscope write them
		`{a='b',"c d"!='e "f" \'g\' \\'}`: `a= b; c d! e "f" 'g' \`, `{'a b'="c",` + "`d`=~`e`}": "a b= c; d= e", `process_cpu{}`: "__name__= process_cpu",
		`process_cpu:cpu:nanoseconds:cpu:nanoseconds {a="{b}"}`: "__profile_type__= process_cpu:cpu:nanoseconds:cpu:nanoseconds; a= {b}", `{a='\u00e9\n'}`: "a= é\n",
	} {
		var got []string
		for _, s := range must.Get(parseSelectors(text))(t) {
			got = append(got, s.key+map[bool]string{false: "= ", true: "! "}[s.negated]+s.text)
		}
		assert.Equal(t, want, strings.Join(got, "; "), text)
	}
	for _, text := range []string{"", " ", "{}", "{ }"} {
		all := must.Get(parseSelectors(text))(t)
		assert.Empty(t, all)
	}
	for text, want := range map[string]string{
		"{service_name=": "does not begin with { and end with }", "{": "does not begin", "a": "does not begin", "}": "does not begin", `{a="b"}x`: "does not begin",
		"{service_name=}": `such as pod=~"a.*", and a comma before the next, not "service_name="`, `{a"b"}`: `not "a\"b\""`, `{a="b" c="d"}`: `not "a=\"b\" c=`,
		`{a="b", ,}`: `not ","`, `{a="b}`: `not "a=\"b"`, "{a=\"b\n\"}": "cannot read the quoted text", `{a="\d"}`: "cannot read the quoted text", `{a=~"("}`: "cannot read the regular expression",
		`{a=~"(abcd{30}){30}"}`: "more than 500 steps", `{a=~"` + strings.Repeat("a", 1025) + `"}`: "has 1025 bytes, the limit is 1024",
		`{a='b'c'}`: `not "a='b'c'"`, `{a='\"'}`: "cannot read the quoted text", "{a='b\n'}": "cannot read the quoted text", `process_cpu`: "does not begin with {",
		`a="{b}`: "does not begin with {", `a="b"{}`: "does not begin with {",
		"{" + strings.Repeat(`a="b",`, 33) + "}": "33 selectors are given, the limit is 32",
		"{" + strings.Repeat(`a=~"b",`, 9) + "}": "9 regular expressions are given, the limit is 8",
	} {
		all, err := parseSelectors(text)
		if err == nil {
			err = limitSelectors(all)
		}
		assert.Equal(t, http.StatusBadRequest, statusOf(err), "%.50s", text)
		assert.ErrorContains(t, err, want)
	}
}
