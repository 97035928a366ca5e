// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// leftOutHeader tells how many older profiles an answer leaves out to keep to max_request_size.
const leftOutHeader = "X-Pprof-Profiles-Left-Out"

// answerLevel is the gzip level of profiles that are fetched: who fetches one waits for it.
const answerLevel = 1

// pages answer requests.
type pages struct {
	cfg   *ServerConfig
	store *recent.Store
	// places has one element for each request that merges.
	places chan struct{}
	// start makes the tags of answers differ from those of an earlier run.
	start [8]byte
	now   func() time.Time
}

func newPages(cfg *ServerConfig, store *recent.Store) *pages {
	p := &pages{cfg: cfg, store: store, places: make(chan struct{}, cfg.MaxConcurrentRequests), now: time.Now}
	_, _ = rand.Read(p.start[:]) // never fails
	return p
}

// failure is an error with its status.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func fail(status int, format string, arguments ...any) error {
	return &failure{status: status, text: fmt.Sprintf(format, arguments...)}
}

// handler routes requests. What answers here opens no file, starts no program and changes nothing.
func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	for path, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/{$}":                       p.serveList,
		"/profiles":                  p.serveSeries,
		"/profiles/{service}/{type}": p.serveProfile,
		"/pgo/{service}":             p.servePGO,
	} {
		mux.Handle("GET "+path, answering(serve))
	}
	p.routeViews(mux)
	if p.cfg.PathPrefix == "" {
		return mux
	}
	return http.StripPrefix(p.cfg.PathPrefix, mux)
}

// answering sets what all answers have, and answers errors as go tool pprof shows them.
func answering(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", policyPlain)
		header.Set("Cache-Control", "private, no-cache")
		header.Set("Vary", "Accept-Encoding")
		err := serve(w, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		status := http.StatusInternalServerError
		if known, found := errors.AsType[*failure](err); found {
			status = known.status
		}
		header.Del("ETag")
		header.Del("Content-Encoding")
		header.Del("Content-Disposition")
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("X-Go-Pprof", "1")
		if status == http.StatusServiceUnavailable {
			header.Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, err) // the client may be gone
	})
}

// The policies of what a page may do: nothing at all, or to run the scripts and styles that are in it.
const (
	policyPlain  = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	policyViewer = policyPlain + "; script-src 'unsafe-inline'"
)

// tenant is whose profiles a request sees.
func (p *pages) tenant(r *http.Request) string {
	if p.cfg.Tenant.MetadataKey != "" {
		if tenant := r.Header.Get(p.cfg.Tenant.Header); tenant != "" {
			return tenant
		}
	}
	return p.cfg.Tenant.Default
}

// serveProfile answers with the merged profile of a service and type.
func (p *pages) serveProfile(w http.ResponseWriter, r *http.Request) error {
	chosen, err := p.choose(w, r, r.PathValue("type"), "")
	if err != nil {
		return err
	}
	if p.unchanged(w, r, chosen) {
		return nil
	}
	body, err := p.inPlace(r, func() ([]byte, error) {
		merged, err := merge.Profiles(r.Context(), chosen)
		if err != nil {
			return nil, unmerged(err)
		}
		return pprof.AppendGzip(nil, merged, answerLevel)
	})
	if err != nil {
		return err
	}
	return writeProfile(w, "profile.pb.gz", body)
}

func writeProfile(w http.ResponseWriter, name string, body []byte) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body) //nolint:gosec // an attachment that no browser shows
	return err
}

// unmerged makes an answer of an error of merging.
func unmerged(err error) error {
	switch {
	case errors.Is(err, merge.ErrDiffers):
		return fail(http.StatusUnprocessableEntity, "%v: ask for a time or for attributes that only some of them have", err)
	case errors.Is(err, merge.ErrInvalid):
		return fail(http.StatusUnprocessableEntity, "%v", err)
	}
	return err
}

// inPlace makes an answer while it has a place. Writing it comes after that: a client may take its time.
func (p *pages) inPlace(r *http.Request, answer func() ([]byte, error)) ([]byte, error) {
	release, err := p.place(r)
	if err != nil {
		return nil, err
	}
	defer release()
	return answer()
}

// place waits for a place among the requests that merge. Release gives it back.
func (p *pages) place(r *http.Request) (release func(), err error) {
	timer := time.NewTimer(p.cfg.ConcurrencyWait)
	defer timer.Stop()
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
		return nil, fail(http.StatusServiceUnavailable, "%d requests are being worked on, try again", p.cfg.MaxConcurrentRequests)
	}
}

// address is a URL path below the prefix, relative to the list.
func address(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	return strings.Join(escaped, "/")
}
