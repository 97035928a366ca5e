// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
)

// view is a page about a profile.
type view struct {
	name, title string
	parameters  []string
	policy      string
	draw        func(*pages, *drawing) ([]byte, error)
}

var views = []view{
	{"flamegraph", "Flame graph", viewParameters, policyViewer, (*pages).drawGoogle},
	{besidePage, "Graph and table", viewParameters, policyViewer, (*pages).drawGoogle},
	{"top", "Top", viewParameters, policyViewer, (*pages).drawGoogle},
	{"peek", "Peek", viewParameters, policyViewer, (*pages).drawGoogle},
	{"functions", "Functions", slices.Concat(ownParameters, []string{searchParameter, sortParameter, functionParameter}), policyOwn, (*pages).drawFunctions},
	{"compare", "Compare", slices.Concat(ownParameters, []string{searchParameter, sortParameter}), policyOwn, (*pages).drawCompare},
	{groupsPage, "Labels", slices.Concat(ownParameters, []string{byParameter}), policyOwn, (*pages).drawLabels},
}

// viewOf returns the page with a name.
func viewOf(name string) (*view, error) {
	names := make([]string, len(views))
	for i := range views {
		if names[i] = views[i].name; name == names[i] {
			return &views[i], nil
		}
	}
	return nil, fail(http.StatusNotFound, "there is no page %.40q, only %s", name, strings.Join(names, ", "))
}

//go:embed own.html
var ownText string

var ownTemplate = template.Must(template.New("own").Parse(ownText))

// drawOwn draws a page of this package: the bar, and the named template below it.
func (p *pages) drawOwn(d *drawing, above *bar, name string, content any) ([]byte, error) {
	added, err := p.bar(d, above)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	err = ownTemplate.Execute(&body, map[string]any{
		"Title": d.about.title(), "Notice": strings.Join(d.notices, " "),
		"Head": template.HTML(viewer.Head()), "Bar": template.HTML(added), //nolint:gosec // both are from templates
		"Page": name, "Content": content,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make the page %s: %w", name, err)
	}
	return body.Bytes(), nil
}
