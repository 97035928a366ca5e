// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// gated is a response writer whose writes wait. It reports each write.
type gated struct {
	*httptest.ResponseRecorder
	writes  chan string
	allowed chan struct{}
}

func newGated() *gated {
	return &gated{ResponseRecorder: httptest.NewRecorder(), writes: make(chan string), allowed: make(chan struct{})}
}

func (g *gated) Write(data []byte) (int, error) {
	g.writes <- string(data)
	<-g.allowed
	return g.ResponseRecorder.Write(data)
}

func (g *gated) Flush() {
	g.writes <- "flush"
	g.ResponseRecorder.Flush()
}

const graphPath = "/view/first/cpu/flamegraph"

func browserRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	return r
}

func newGraphs(t *testing.T) holding {
	t.Helper()
	d := newHolding(t, 32<<20)
	require.NoError(t, d.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "first")))
	return d
}

// A browser gets the bar before the graph is drawn. While it does not read the bar, the page is drawn, and other requests can
// run.
func TestPageBeginsEarly(t *testing.T) {
	d := newGraphs(t)
	w := newGated()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.pages.handler().ServeHTTP(w, browserRequest(t, graphPath))
	}()
	beginning := <-w.writes
	assert.True(t, strings.HasPrefix(beginning, "<!DOCTYPE html>"))
	assert.Contains(t, beginning, `<nav id="profiles"`)
	assert.Contains(t, beginning, "<title>first cpu, ")
	assert.NotContains(t, beginning, `<div id="stack-holder"`)
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Eventually(t, func() bool { return len(d.pages.merging) == 0 }, deliverytest.Patience, deliverytest.Patience/10_000, "the place is given back")
	w.allowed <- struct{}{}
	assert.Equal(t, "flush", <-w.writes)
	for rest := true; rest; {
		select {
		case <-w.writes:
			w.allowed <- struct{}{}
		case <-ended:
			rest = false
		}
	}
	whole := httptest.NewRecorder()
	r := browserRequest(t, graphPath)
	r.Header.Del("Accept")
	d.pages.handler().ServeHTTP(whole, r)
	assert.Equal(t, whole.Body.String(), w.Body.String(), "a program gets the same page")
	assert.Equal(t, whole.Header(), w.Header())
	assert.False(t, whole.Flushed)
}

// A page in gzip is one member, whose beginning can be read alone.
func TestPageBeginsEarlyInGzip(t *testing.T) {
	d := newGraphs(t)
	plain := httptest.NewRecorder()
	d.pages.handler().ServeHTTP(plain, browserRequest(t, graphPath))
	for range 3 { // writers are used again
		w := httptest.NewRecorder()
		r := browserRequest(t, graphPath)
		r.Header.Set("Accept-Encoding", "gzip")
		d.pages.handler().ServeHTTP(w, r)
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
		assert.True(t, w.Flushed)
		z, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		z.Multistream(false)
		body, err := io.ReadAll(z)
		require.NoError(t, err)
		assert.Equal(t, plain.Body.String(), string(body))
		assert.Zero(t, w.Body.Len(), "nothing follows")
	}
}

// If google/pprof refuses parameters, the answer has that status, for browsers too.
func TestPageWithParametersIsWhole(t *testing.T) {
	d := newGraphs(t)
	for query, status := range map[string]int{
		"?n=many": http.StatusBadRequest, "?si=none": http.StatusBadRequest, "?layout=none": http.StatusBadRequest, "?label.none=a": http.StatusNotFound,
		"?n=10": http.StatusOK,
	} {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, browserRequest(t, graphPath+query))
		assert.Equal(t, status, w.Code, query)
		assert.False(t, w.Flushed, query)
	}
}

// An error after the beginning is shown below it, and the client detects that the page is incomplete.
func TestPageFailsBelowItsBeginning(t *testing.T) {
	server := httptest.NewServer(handle(func(w http.ResponseWriter, r *http.Request) error {
		a := newPageAnswer(w, r)
		if err := a.begin([]byte("<p>beginning"), isEarly(r)); err != nil {
			return err
		}
		return a.end(errors.New("<no memory>"))
	}))
	defer server.Close()
	for _, encoding := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Encoding", encoding)
		response, err := server.Client().Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, encoding)
		require.NoError(t, response.Body.Close())
		if encoding == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		assert.Equal(t, `<p>beginning<section id="notice" role="alert">&lt;no memory&gt;</section>`, string(body), encoding)

		r.Header.Set("Accept", "*/*")
		response, err = server.Client().Do(r)
		require.NoError(t, err)
		assert.Equal(t, http.StatusInternalServerError, response.StatusCode)
		body, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, "<no memory>\n", string(body))
	}
}
