// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
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

// withHeaders sets the headers of all answers.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", page.Policy)
		header.Set("Cache-Control", "private, no-cache")
		header.Set("Vary", "Accept-Encoding")
		next.ServeHTTP(w, r)
	})
}

// handle writes errors in the form that go tool pprof shows.
func handle(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return withHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := checkQuery(r)
		if err == nil {
			err = serve(w, r)
		}
		if err == nil || errors.Is(err, errNotModified) {
			return
		}
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // A return would send an empty answer with status 200, and browsers would cache it.
		}
		status := statusOf(err)
		header := w.Header()
		header.Del("ETag")
		header.Del("Content-Encoding")
		header.Del("Content-Disposition")
		header.Set("X-Go-Pprof", "1")
		if status == http.StatusServiceUnavailable {
			header.Set("Retry-After", "1")
		}
		writeError(w, r, status, err)
	}))
}

// writeError answers with an error as a text, or as Connect does if the client accepts JSON.
func writeError(w http.ResponseWriter, r *http.Request, status int, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, err) // the client can be disconnected
		return
	}
	body, _ := json.Marshal(map[string]string{"code": codeOf(err).String(), "message": err.Error()}) // never fails
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec,nolintlint // JSON
}

// checkQuery refuses a query with a malformed part. Otherwise net/url leaves out that part, and the answer is not what the client
// asked for.
func checkQuery(r *http.Request) error {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return fail(http.StatusBadRequest, "cannot read the query: %v; in a value, ; is written as %%3B, %% as %%25", err)
	}
	return nil
}

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	known, found := errors.AsType[*failure](err)
	switch {
	case found:
		return known.status
	case errors.Is(err, selector.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, memory.ErrExhausted):
		return http.StatusServiceUnavailable
	case errors.Is(err, memory.ErrTooLarge), errors.Is(err, merge.ErrDiffers), errors.Is(err, merge.ErrNoStartLines), errors.Is(err, tree.ErrTooLarge),
		errors.Is(err, tree.ErrExpensive), errors.Is(err, selector.ErrExpensive):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// codeOf returns the code of Connect for an error.
func codeOf(err error) connect.Code {
	switch statusOf(err) {
	case http.StatusBadRequest:
		return connect.CodeInvalidArgument
	case http.StatusNotFound:
		return connect.CodeNotFound
	case http.StatusServiceUnavailable:
		return connect.CodeUnavailable
	case http.StatusUnprocessableEntity:
		return connect.CodeResourceExhausted
	}
	if errors.Is(err, context.Canceled) {
		return connect.CodeCanceled
	}
	return connect.CodeInternal
}

// write writes an answer, compressed if the client accepts that.
func write(w http.ResponseWriter, r *http.Request, contentType string, body []byte) (err error) {
	w.Header().Set("Content-Type", contentType)
	if takesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		if body, err = pprof.AppendGzip(nil, body, answerLevel); err != nil {
			return err
		}
	}
	_, err = w.Write(body) //nolint:gosec,nolintlint // names are escaped; gosec sees this in some runs only
	return err
}

func writeJSON(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	return write(w, r, "application/json", body)
}

func takesGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(encoding), ";")
		if strings.TrimSpace(name) == "gzip" && strings.TrimSpace(parameters) != "q=0" {
			return true
		}
	}
	return false
}
