// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"strings"
)

// treeFormats are the formats that are made of a tree of functions.
var treeFormats = map[string]struct {
	name, contentType string
	write             func(t *tree, title, unit string) ([]byte, error)
}{
	"collapsed":  {"profile.collapsed.txt", "text/plain; charset=utf-8", func(t *tree, _, _ string) ([]byte, error) { return t.collapsed() }},
	"speedscope": {"profile.speedscope.json", "application/json", (*tree).speedscope},
	"svg":        {"profile.svg", "image/svg+xml", (*tree).svg},
}

// download answers with a file of what the parameters select.
func (v *visit) download() ([]byte, error) {
	name := v.request.PathValue("format")
	format, isTree := treeFormats[name]
	if !isTree && name != "pprof" && name != "pgo" {
		return nil, fail(http.StatusNotFound, "%.40q is not a format: these are pprof, collapsed, speedscope, svg and pgo", name)
	}
	s, err := v.selectBy(v.values)
	if err != nil {
		return nil, err
	}
	if len(s.profiles) == 0 {
		return nil, fail(http.StatusNotFound, "there is no profile of this type and time with these labels")
	}
	if err := v.unlessKnown(s); err != nil {
		return nil, err
	}
	switch name {
	case "pprof":
		v.attach(profileName, profileContent)
		return v.mergedOf(s, 0, gzipOf)
	case "pgo":
		v.attach(pgoName, profileContent)
		return v.mergedOf(s, defaultDepth, (*merger).pgo)
	}
	t, err := v.tree(s)
	if err != nil {
		return nil, err
	}
	v.attach(format.name, format.contentType)
	return format.write(t, strings.TrimSpace(v.values.Get(typeParameter)+" "+v.values.Get(queryParameter)), s.unit())
}
