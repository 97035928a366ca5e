// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"embed"
	"mime"
	"net/http"
	"net/url"
	"path"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// tenant returns the tenant whose profiles a request sees.
func (v *viewExporter) tenant(header http.Header) string {
	if v.cfg.Tenant.MetadataKey != "" {
		if tenant := header.Get(v.cfg.Tenant.Header); tenant != "" {
			return tenant
		}
	}
	return v.cfg.Tenant.Default
}

// call is a request to a page or to Pyroscope's API.
type call struct {
	*viewExporter
	tenant string
	// work counts the memory of the request.
	work *meter.Meter
}

// visit is a request to a page.
type visit struct {
	call
	request *http.Request
	// values are the parameters of the URL, and header is that of the answer.
	values url.Values
	header http.Header
	// written is called once the answer is written. It can be nil.
	written func()
}

// answer returns the body of an answer, and sets its headers.
type answer func(v *visit) ([]byte, error)

// handler returns the routes. No request opens a file or starts a program, and only scrapers keep state.
func (v *viewExporter) handler() http.Handler {
	mux := http.NewServeMux()
	for route, answer := range map[string]answer{
		"/{$}":                       (*visit).file,
		"/static/{name}":             (*visit).file,
		"/info":                      (*visit).info,
		"/profiles":                  working(listParameters, (*visit).list),
		"/profiles/{service}/{type}": working(profileParameters, (*visit).profile),
		"/pgo/{service}":             working(pgoParameters, (*visit).pgo),
		"/functions":                 working(functionsParameters, (*visit).functions),
		"/download/{format}":         working(selectionParameters, (*visit).download),
		"/plain":                     working(plainListParameters, (*visit).plainList),
		"/plain/functions":           working(selectionParameters, (*visit).plainFunctions),
	} {
		mux.Handle("GET "+route, v.handle(answer))
	}
	v.handleAPI(mux)
	handler := http.Handler(mux)
	if prefix := v.cfg.PathPrefix; prefix != "" {
		outer := http.NewServeMux() // It leads from the prefix alone to the one with a slash.
		outer.Handle(prefix+"/", http.StripPrefix(prefix, mux))
		handler = outer
	}
	return v.admitted(handler)
}

// working returns an answer for which a request works. It refuses other parameters than the known ones, since the answer would not be what
// the client asked for. Writing the answer is outside of the limit of concurrent requests, since a client can be slow.
func working(known []string, answer answer) answer {
	return func(v *visit) ([]byte, error) {
		if err := checkParameters(v.values, known); err != nil {
			return nil, err
		}
		work, end, err := v.begin(v.request)
		if err != nil {
			return nil, err
		}
		defer end()
		v.work = work
		return answer(v)
	}
}

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
