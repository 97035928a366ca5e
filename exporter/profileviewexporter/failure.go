// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/otelpprof/otelpprof/internal/memory"
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

// invalid returns the error for what selects profiles and samples, and cannot be read.
func invalid(format string, arguments ...any) error {
	return fail(http.StatusBadRequest, "the selector is invalid: %s", fmt.Sprintf(format, arguments...))
}

// unimplemented returns the error for a part of Pyroscope's API that is not offered.
func unimplemented(text string) error { return fail(http.StatusNotImplemented, "%s", text) }

// writeError answers with an error as a text, or as Connect does if the client accepts JSON.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	header := w.Header()
	for _, name := range []string{"ETag", "Content-Encoding", "Content-Disposition", "Content-Length"} {
		header.Del(name)
	}
	header.Set("X-Go-Pprof", "1")
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	if !strings.Contains(r.Header.Get("Accept"), "application/json") {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, err) // the client can be disconnected
		return
	}
	body, _ := json.Marshal(map[string]string{"code": codeOf(err).String(), "message": err.Error()}) // never fails
	header.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec,nolintlint // JSON
}

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	known, found := errors.AsType[*failure](err)
	switch {
	case found:
		return known.status
	case errors.Is(err, memory.ErrExhausted):
		return http.StatusServiceUnavailable
	case errors.Is(err, memory.ErrTooLarge):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// codes are the codes of Connect by HTTP status.
var codes = map[int]connect.Code{
	http.StatusBadRequest:          connect.CodeInvalidArgument,
	http.StatusNotFound:            connect.CodeNotFound,
	http.StatusNotImplemented:      connect.CodeUnimplemented,
	http.StatusServiceUnavailable:  connect.CodeUnavailable,
	http.StatusUnprocessableEntity: connect.CodeResourceExhausted,
}

// codeOf returns the code of Connect for an error.
func codeOf(err error) connect.Code {
	code, found := codes[statusOf(err)]
	switch {
	case found:
		return code
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled
	}
	return connect.CodeInternal
}
