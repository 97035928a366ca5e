// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "regexp"

// repairs add the elements that keyboards and screen readers need to the pages of google/pprof: landmarks, focus and names.
// They match tags, so they never change text from profiles, which is escaped.
var repairs = []struct{ from, to string }{
	{`<div class="header">`, `<div class="header" role="banner">`},
	{`<div class="menu-name">`, `<div class="menu-name" tabindex="0" role="button" aria-haspopup="true">`},
	{`<input id="search"`, `<input id="search" aria-label="Search regexp"`},
	{`<div id="errors">`, `<div id="errors" role="alert">`},
	{`<div id="top">`, `<div id="top" role="main" aria-label="Functions" tabindex="0">`},
	{`<div id="content">`, `<div id="content" role="main" aria-label="Callers and callees" tabindex="0">`},
	{`<div id="current-details">`, `<div id="current-details" role="region" aria-label="Frame">`},
	{`<div id="stack-holder">`, `<div id="stack-holder" role="main" aria-label="Flame graph">`},
	{`<div id="stack-chart">`, `<div id="stack-chart" role="tree" aria-label="Frames. Arrow keys move from frame to frame, Enter zooms in, Escape goes back.">`},
}

var (
	// download is the menu whose link is left out.
	download = regexp.MustCompile(`<div id="download" class="menu-item">\s*<div class="menu-name">\s*<a [^>]*>[^<]*</a>\s*</div>\s*</div>`)
	// sorted are the headings that sort the table.
	sorted = regexp.MustCompile(`<th id="(flathdr1|flathdr2|cumhdr1|cumhdr2|namehdr)">([^<]*)</th>`)
)

// accessible makes a page usable with a keyboard and a screen reader.
func accessible(page []byte) []byte {
	page = replaceMatches(page, download, "")
	page = replaceMatches(page, sorted, `<th id="$1"><button type="button">$2</button></th>`)
	for _, r := range repairs {
		page = replaceAll(page, r.from, r.to)
	}
	return page
}
