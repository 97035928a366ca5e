// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpclienttest has a server for tests of the connections of HTTP clients.
package httpclienttest // import "github.com/otelpprof/otelpprof/internal/testkit/httpclienttest"

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// NewServer starts a server on a loopback address. open returns the number of its open connections. The test closes the server.
func NewServer(tb testing.TB, handler http.Handler) (url string, open func() int64) {
	tb.Helper()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			connections.Add(1)
		case http.StateClosed:
			connections.Add(-1)
		}
	}
	server.Start()
	tb.Cleanup(server.Close)
	return server.URL, connections.Load
}
