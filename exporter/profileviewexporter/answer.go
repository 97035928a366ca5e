// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// failure is an error with an HTTP status.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func fail(status int, format string, arguments ...any) error {
	return &failure{status: status, text: fmt.Sprintf(format, arguments...)}
}

// handle sets the headers of all answers, and writes errors in the form that go tool pprof shows.
func handle(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", policyPlain)
		header.Set("Cache-Control", "private, no-cache")
		header.Set("Vary", "Accept-Encoding")
		err := checkQuery(r)
		if err == nil {
			err = serve(w, r)
		}
		if err == nil {
			return
		}
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // A return would send an empty answer with status 200, and browsers would cache it.
		}
		status := statusOf(err)
		header.Set("Content-Security-Policy", policyPlain)
		header.Del("ETag")
		header.Del("Content-Encoding")
		header.Del("Content-Disposition")
		header.Set("X-Go-Pprof", "1")
		if status == http.StatusServiceUnavailable {
			header.Set("Retry-After", "1")
		}
		writeError(w, r, status, err)
	})
}

// checkQuery refuses a query with a malformed part. Otherwise net/url leaves out that part, and the answer is not what the client
// asked for.
func checkQuery(r *http.Request) error {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return fail(http.StatusBadRequest, "cannot read the query: %v; in a value, ; is written as %%3B, %% as %%25", err)
	}
	return nil
}

//go:embed error.html
var errorText string

var errorTemplate = template.Must(template.New("error").Parse(errorText))

// writeError answers with an error, as a text or, for browsers, as a page with a link to the list.
func writeError(w http.ResponseWriter, r *http.Request, status int, err error) {
	w.Header().Add("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, err) // the client can be disconnected
		return
	}
	page := map[string]any{"Text": err.Error(), "List": strings.Repeat("../", max(0, strings.Count(r.URL.EscapedPath(), "/")-1))}
	values, malformed := url.ParseQuery(r.URL.RawQuery)
	if malformed == nil && (compares(values) || values.Get(fromParameter) != "") {
		page["All"] = "?" + withTime(withoutBase(values), allTimes).Encode()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = errorTemplate.Execute(w, page) // the client can be disconnected
}

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	known, found := errors.AsType[*failure](err)
	switch {
	case found:
		return known.status
	case errors.Is(err, merge.ErrNoSampleType):
		return http.StatusBadRequest
	case errors.Is(err, memory.ErrExhausted):
		return http.StatusServiceUnavailable
	case errors.Is(err, memory.ErrTooLarge), errors.Is(err, merge.ErrInvalid), errors.Is(err, merge.ErrNoStartLines), errors.Is(err, viewer.ErrTooLarge),
		errors.Is(err, selector.ErrExpensive):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}
