// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
)

var (
	// sampleTypes matches the links to the other sample types, up to their identifiers.
	sampleTypes = regexp.MustCompile(`<a href="\?(si=[^"]*" id="sampletype-)`)
	// reset matches the link that resets the parameters of google/pprof, up to the end of its tag.
	reset = regexp.MustCompile(`(<a [^>]*href=")\?(">Reset</a>)`)
)

// maxTypesQuery limits the query that the links to the other sample types repeat. A profile can have 256 types.
const maxTypesQuery = 4 << 10

// keepParameters adds the parameters of the page to its links. Without JavaScript they would have none, and the link that resets never
// has. That link keeps the parameters that are not those of google/pprof, such as the time.
func keepParameters(page []byte, values url.Values) []byte {
	own, all := maps.Clone(values), maps.Clone(values)
	maps.DeleteFunc(own, func(name string, _ []string) bool { return slices.Contains(Parameters, name) })
	all.Del("p") // a script changes it
	page = replaceMatches(page, reset, "${1}"+linkTo(own)+"${2}")
	page = replaceAll(page, `href="?"`, `href="`+linkTo(all)+`"`)
	for _, name := range Pages {
		page = replaceAll(page, `href="./`+name+`"`, `href="./`+name+linkTo(all)+`"`)
	}
	all.Del("si")
	if others := linkTo(all); len(all) > 0 && len(others) <= maxTypesQuery {
		page = replaceMatches(page, sampleTypes, `<a href="`+others+"&amp;${1}")
	}
	return page
}

// linkTo returns the query of a link as HTML. It has no $, which is special in a template of [regexp.Regexp.Expand].
func linkTo(values url.Values) string { return html.EscapeString("?" + values.Encode()) }
