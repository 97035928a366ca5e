// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/google/pprof/profile"
)

//go:embed head.html
var head []byte

// Head is the part of the HTML head that all pages share, such as the style of the bar.
func Head() string { return string(head) }

// beginOfBody is the end of the part that all pages with a name share.
const beginOfBody = "<body>"

var errNoBody = errors.New("the page has no body")

// heads are the pages of google/pprof before their bodies. Only their titles depend on the profile.
var heads = headsOf(Pages)

func headsOf(pages []string) map[string]func() ([]byte, error) {
	heads := make(map[string]func() ([]byte, error), len(pages))
	for _, page := range pages {
		heads[page] = sync.OnceValues(func() ([]byte, error) { return headOf(page) })
	}
	return heads
}

// headOf draws a page of a small profile, and returns the part before its body.
func headOf(page string) ([]byte, error) {
	function := &profile.Function{ID: 1, Name: "main"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{1}}},
		Location:   []*profile.Location{location}, Function: []*profile.Function{function},
	}
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/" + page}}
	_, body, err := draw(r, p, page, PageBytes)
	if err != nil {
		return nil, err
	}
	above, _, found := bytes.Cut(body, []byte(beginOfBody))
	if !found {
		return nil, fmt.Errorf("cannot make the page %s: %w", page, errNoBody)
	}
	return replaceFirst(slices.Clone(above), "</head>", string(head)+"</head>"), nil
}

// Begin returns the beginning of a page: its head and the bar, which is HTML. It does not depend on the profile, so it can be
// sent before the page is drawn. layout is the class of the page of a flame graph.
func Begin(page, title, layout string, bar []byte) ([]byte, error) {
	above, found := heads[page]
	if !found {
		return nil, fmt.Errorf("cannot make the page: there is no page %q", page)
	}
	text, err := above()
	if err != nil {
		return nil, err
	}
	begin := replaceTitle(slices.Clone(text), title)
	begin = replaceFirst(begin, "<html>", `<html lang="en" class="`+html.EscapeString(layout)+`">`)
	return append(append(append(begin, beginOfBody+"\n"...), bar...), '\n'), nil
}

// replaceTitle changes the title of a page. The first title element is that of the page, since names from profiles are escaped.
func replaceTitle(page []byte, title string) []byte {
	before, rest, found := bytes.Cut(page, []byte("<title>"))
	text, _, ended := bytes.Cut(rest, []byte("</title>"))
	if !found || !ended {
		return page
	}
	begin := len(before) + len("<title>")
	return slices.Replace(page, begin, begin+len(text), []byte(html.EscapeString(title))...)
}
