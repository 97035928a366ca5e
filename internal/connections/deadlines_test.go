// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWithDeadline: a body that stops arriving keeps no server from shutting down, whether the handler reads it or not.
func TestWithDeadline(t *testing.T) {
	for name, handle := range map[string]func(r *http.Request){
		"read":     func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
		"not read": func(*http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			stopping, stop := context.WithCancel(t.Context())
			begun := make(chan struct{})
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: WithDeadline(stopping, 0, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(begun)
				handle(r)
			}))}
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan error, 1)
			go func() { served <- server.Serve(listener) }()
			c := connect(t, listener.Addr().String())
			_, err = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab")
			require.NoError(t, err)
			<-begun
			stop()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.NoError(t, server.Shutdown(ctx), "it waits for the body")
			require.ErrorIs(t, <-served, http.ErrServerClosed)
		})
	}
}

// TestBodyFails: net/http would serve the next request of a connection after a body that could not be read, with a context that has
// ended.
func TestBodyFails(t *testing.T) {
	failed := make(chan struct{})
	handler := WithDeadline(t.Context(), time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		close(failed)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	server := httptest.NewServer(handler)
	defer server.Close()
	c := connect(t, server.Listener.Addr().String())
	_, err := fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab")
	require.NoError(t, err)
	<-failed
	_, err = fmt.Fprint(c, strings.Repeat("b", 98))
	require.NoError(t, err)
	answer, err := http.ReadResponse(c.answers, nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.True(t, answer.Close)
}
