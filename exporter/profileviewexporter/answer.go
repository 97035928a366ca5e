// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// pagePolicy is the Content-Security-Policy of all pages: scripts and styles are files of this server.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// handle writes an answer, or an error in the form that go tool pprof shows.
func (v *viewExporter) handle(answer answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", pagePolicy)
		header.Set("Cache-Control", "private, no-cache")
		header.Set("Vary", "Accept-Encoding")
		one := &visit{call: call{viewExporter: v, tenant: v.tenant(r.Header)}, request: r, header: header}
		err := one.answer(w, answer) //nolint:contextcheck // it has the request
		switch {
		case err == nil:
		case errors.Is(err, errNotModified):
			w.WriteHeader(http.StatusNotModified)
		case r.Context().Err() != nil:
			panic(http.ErrAbortHandler) // A return would send an empty answer with status 200, and browsers would cache it.
		default:
			writeError(w, r, err)
		}
	})
}

// answer writes an answer.
func (v *visit) answer(w http.ResponseWriter, answer answer) (err error) {
	// Without this check, net/url leaves out a malformed part, and the answer is not what the client asked for.
	if v.values, err = url.ParseQuery(v.request.URL.RawQuery); err != nil {
		return fail(http.StatusBadRequest, "cannot read the query: %v; in a value, ; is written as %%3B, %% as %%25", err)
	}
	body, err := answer(v)
	if err == nil {
		err = v.write(w, body)
	}
	if err == nil && v.written != nil {
		v.written()
	}
	return err
}

// answerLevel is the gzip level of answers. It is the fastest, since the client waits.
const answerLevel = 1

func compress(body []byte) ([]byte, error) { return pprof.AppendGzip(nil, body, answerLevel) }

// write writes an answer. Unless it is compressed itself, it is compressed if the client accepts that.
func (v *visit) write(w http.ResponseWriter, body []byte) (err error) {
	if v.header.Get("Content-Type") != profileContent && takesGzip(v.request) {
		v.header.Set("Content-Encoding", "gzip")
		if body, err = compress(body); err != nil {
			return err
		}
	}
	v.header.Set("Content-Length", strconv.Itoa(len(body)))
	// The work has ended, and only the answer is in memory.
	memory.FromContext(v.request.Context()).Shrink(int64(cap(body)))
	_, err = w.Write(body) //nolint:gosec,nolintlint // names are escaped, profiles are attachments; gosec sees this in some runs only
	if err != nil {
		panic(http.ErrAbortHandler) // The client has left, or is too slow. It has a part of the answer.
	}
	return nil
}

// profileContent is the type of a gzipped pprof.
const profileContent = "application/octet-stream"

// attach makes the answer a file.
func (v *visit) attach(name, contentType string) {
	v.header.Set("Content-Type", contentType)
	v.header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

func (v *visit) json(value any) ([]byte, error) {
	v.header.Set("Content-Type", "application/json")
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cannot write the answer: %w", err)
	}
	return body, nil
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

// errNotModified says that the client has the answer already.
var errNotModified = errors.New("the client has the answer already")

// unlessKnown returns [errNotModified] if the client has the answer already. The answer depends on the profiles and the URL.
func (v *visit) unlessKnown(sides ...*selection) error {
	digest := sha256.New()
	_, _ = digest.Write(v.salt[:])
	_, _ = digest.Write([]byte(v.request.URL.RequestURI() + "\x00"))
	for _, s := range sides {
		for _, one := range s.profiles {
			_, _ = fmt.Fprintf(digest, "%d,", one.Sequence)
		}
		_, _ = digest.Write([]byte{0})
	}
	tag := `"` + hex.EncodeToString(digest.Sum(nil)[:16]) + `"`
	v.header.Set("ETag", tag)
	for candidate := range strings.SplitSeq(v.request.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			return errNotModified
		}
	}
	return nil
}

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
