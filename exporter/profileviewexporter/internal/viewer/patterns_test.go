// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All expressions of a request share the limit of steps, also those that google/pprof finds in a part of a parameter.
func TestCheckQuery(t *testing.T) {
	large := "(?:abcdefghij){120}" // 1320 steps
	for name, test := range map[string]struct {
		values url.Values
		wrong  string
	}{
		"one":              {url.Values{"f": {large}}, ""},
		"two":              {url.Values{"f": {large}, "i": {large}}, "i"},
		"of a label":       {url.Values{"f": {large}, "tf": {"key=" + large}}, "tf"},
		"in a list":        {url.Values{"ti": {large + "," + large}}, "ti"},
		"an invalid key":   {url.Values{"tf": {"*=(?:abcdefghij){1000}"}}, "tf"},
		"an invalid whole": {url.Values{"tf": {"(?:abcdefghij){1000},a{2,1}"}}, "tf"},
		"long":             {url.Values{"h": {strings.Repeat("a", 2001)}}, "h"},
		"a text":           {url.Values{"h": {strings.Repeat("a", 1900)}}, ""},
		"invalid":          {url.Values{"f": {"("}}, ""},
	} {
		err := CheckQuery(test.values)
		if test.wrong == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "more than 2000 steps together, with that of "+test.wrong+"=", name)
	}
}

// The work of expressions is limited by the names of the profile. The link to the flame graph of a function with a long name is not
// refused.
func TestCheckWork(t *testing.T) {
	p := example("main.go", strings.Repeat("n", 1000))
	for range 600 {
		p.Location = append(p.Location, p.Location[0])
	}
	p.Sample[0].Label = map[string][]string{"k": make([]string, 300_000)}
	for query, want := range map[string]string{
		"f=abc.*":        "",
		"f=(?:.*){660}x": "the regular expressions of f can take",
		"f=^(?:.*){40}$&h=(.){40}&sf=(.*){200}x&prunefrom=(.*){200}": "the regular expressions of f, h, sf, prunefrom can take",
		"f=^" + strings.Repeat("n", 1000) + "$":                      "",
		"f=(?i)^" + strings.Repeat("n", 1000) + "$":                  "the regular expressions of f can take",
		"tf=(?:.*){600}x": "the regular expressions of tf can take",
		"ti=x":            "",
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		require.NoError(t, CheckQuery(values), query)
		err = CheckWork(values, p)
		if want == "" {
			assert.NoError(t, err, query)
			continue
		}
		assert.ErrorContains(t, err, want, query)
		assert.ErrorContains(t, err, "the limit is 536870912", query)
	}
}

// Frames are dropped, unless the expression of the profile is too expensive. A part of it can be expensive although it is not valid alone.
func TestPrune(t *testing.T) {
	for _, test := range []struct {
		drop, keep string
		want       int
	}{
		{"leaf|other", "", 1},
		{"leaf", "le.*", 2},
		{"", "", 2},
		{"lea", "", 2},
		{"(", "", 2},
		{"leaf", "(", 2},
		{"leaf)|(other", "", 1},
		{"leaf)|((?:abcdefghij){1000}", "", 2},
		{"leaf", "a)|((?:abcdefghij){1000}", 2},
	} {
		p, root := example("main.go", "leaf"), example("main.go", "main")
		p.Sample[0].Location = append(p.Sample[0].Location, root.Location[0])
		root.Location[0].ID = 2
		p.Location = append(p.Location, root.Location[0])
		p.DropFrames, p.KeepFrames = test.drop, test.keep
		Prune(p)
		assert.Len(t, p.Sample[0].Location, test.want, "%+v", test)
		assert.Empty(t, p.DropFrames)
		assert.Empty(t, p.KeepFrames)
	}
	p := example("main.go", strings.Repeat("n", 1000))
	for range 1000 {
		p.Function = append(p.Function, p.Function[0])
	}
	p.Sample[0].Location = append(p.Sample[0].Location, &profile.Location{ID: 2})
	p.DropFrames = "(?:.*){600}|n+"
	Prune(p)
	assert.Len(t, p.Sample[0].Location, 2, "the expression is too expensive for the names")
}
