// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"embed"
	"mime"
	"net/http"
	"path"
)

// pageFiles are the files of the page: index.html is the page itself.
//
//go:embed page/index.html page/*.css page/*.js page/*.svg
var pageFiles embed.FS

// file answers with a file of the page.
func (v *visit) file() ([]byte, error) {
	name := cmp.Or(v.request.PathValue("name"), "index.html")
	body, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		return nil, fail(http.StatusNotFound, "there is no file %.40q", name)
	}
	v.header.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	return body, v.unlessKnown()
}

// info answers with what the page must know of the configuration.
func (v *visit) info() ([]byte, error) {
	return v.json(map[string]string{"trace_url": v.cfg.TraceURL})
}
