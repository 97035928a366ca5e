// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMain(m *testing.M) {
	// A server keeps a connection for a while after an answer that ends it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// limited is a server with a limit. A request for /wait is answered when the test ends.
type limited struct {
	address string
	closed  atomic.Int64
	// begun gets a value when a request for /wait is being served, and idle when a connection has become idle: that is after its answer.
	begun, idle chan struct{}
}

func start(t *testing.T, most int) *limited {
	t.Helper()
	return startLimited(t, most, make(chan struct{}), func() {})
}

// startLimited is start with a function that is called when no connection is left. A request for /wait is answered when there is a value in end, too.
func startLimited(t *testing.T, most int, end <-chan struct{}, full func()) *limited {
	t.Helper()
	s := &limited{begun: make(chan struct{}, most), idle: make(chan struct{}, 2*most)}
	ended := make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			s.begun <- struct{}{}
			select {
			case <-end:
			case <-ended:
			}
		}
	})}
	Limit(server, most, func() { s.closed.Add(1) }, full)
	AllowGRPC(server)
	changed := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		changed(c, state)
		if state == http.StateIdle {
			select {
			case s.idle <- struct{}{}:
			default:
			}
		}
	}
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		close(ended)
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	s.address = listener.Addr().String()
	return s
}

type connection struct {
	net.Conn
	answers *bufio.Reader
}

func connect(t *testing.T, address string) connection {
	t.Helper()
	c := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", address))(t)
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	t.Cleanup(func() { _ = c.Close() })
	return connection{c, bufio.NewReader(c)}
}

func (c connection) send(t *testing.T, path string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
	require.NoError(t, err)
}

func (c connection) ask(t *testing.T) {
	t.Helper()
	c.send(t, "/")
	answer := must.Get(http.ReadResponse(c.answers, nil))(t)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func (c connection) requireClosed(t *testing.T) {
	t.Helper()
	_, err := c.answers.ReadByte()
	require.Error(t, err)
	require.NotErrorIs(t, err, net.ErrClosed)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is open")
}

// TestWithoutRequest: who has sent nothing for longest goes first, and others are served.
func TestWithoutRequest(t *testing.T) {
	s := start(t, 3)
	served := connect(t, s.address)
	served.ask(t)
	first, second := connect(t, s.address), connect(t, s.address)
	time.Sleep(10 * time.Millisecond) // It has all of them.
	for range 20 {
		connect(t, s.address).ask(t)
	}
	first.requireClosed(t)
	second.requireClosed(t)
	assert.Equal(t, int64(20), s.closed.Load())
}

// TestIdle: without such a connection, one goes that has no request under way.
func TestIdle(t *testing.T) {
	s := start(t, 3)
	working, older, newer := connect(t, s.address), connect(t, s.address), connect(t, s.address)
	working.send(t, "/wait")
	<-s.begun
	older.ask(t)
	<-s.idle
	newer.ask(t)
	<-s.idle
	another := connect(t, s.address)
	another.ask(t)
	older.requireClosed(t)
	newer.ask(t)
	assert.Equal(t, int64(1), s.closed.Load())
}

// TestAllWorking: what is under way is not cut off.
func TestAllWorking(t *testing.T) {
	s := start(t, 2)
	for range 2 {
		connect(t, s.address).send(t, "/wait")
		<-s.begun
	}
	connect(t, s.address).requireClosed(t)
	assert.Equal(t, int64(1), s.closed.Load())
}

// TestAllStalled: if all connections have a request in progress, requests that have stalled are ended, and others have room.
func TestAllStalled(t *testing.T) {
	end := make(chan struct{}, 1)
	s := startLimited(t, 2, end, func() { end <- struct{}{} })
	for range 2 {
		connect(t, s.address).send(t, "/wait")
		<-s.begun
	}
	connect(t, s.address).requireClosed(t)
	require.Eventually(t, func() bool {
		c := connect(t, s.address)
		_, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if err != nil {
			return false
		}
		_, err = c.answers.ReadString('\n')
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// TestWaiting: only so many connections have no request in progress, also far below the limit of all. A header that is arriving does
// not count as a request.
func TestWaiting(t *testing.T) {
	s := start(t, 10*MaxWaiting)
	working := connect(t, s.address)
	working.send(t, "/wait")
	<-s.begun
	idle := connect(t, s.address)
	idle.ask(t)
	_, err := fmt.Fprint(idle, "GET / HTTP/1.1\r\nA:\r\n")
	require.NoError(t, err)
	var first connection
	for i := range MaxWaiting {
		c := connect(t, s.address)
		_, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nA:\r\n")
		require.NoError(t, err)
		if i == 0 {
			first = c
		}
	}
	connect(t, s.address).ask(t)
	first.requireClosed(t)
	assert.GreaterOrEqual(t, s.closed.Load(), int64(2))
	assert.LessOrEqual(t, s.closed.Load(), int64(3))
}

// TestLargeHeaders: a header that is too large, or has too many fields, is refused, and its connection ends.
func TestLargeHeaders(t *testing.T) {
	s := start(t, 100)
	for name, test := range map[string]struct {
		header string
		code   int
	}{
		"large":    {"X-A: " + strings.Repeat("a", MaxHeaderBytes-1<<10) + "\r\n", http.StatusOK},
		"larger":   {"X-A: " + strings.Repeat("a", MaxHeaderBytes+1<<10) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"many":     {strings.Repeat("X-A:\r\n", MaxFields), http.StatusOK},
		"too many": {strings.Repeat("X-A:\r\n", MaxFields+1), http.StatusRequestHeaderFieldsTooLarge},
		"body":     {"Content-Length: 5\r\n" + strings.Repeat("X-A:\r\n", MaxFields), http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, s.address)
			_, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", test.header)
			require.NoError(t, err)
			answer := must.Get(http.ReadResponse(c.answers, nil))(t)
			defer answer.Body.Close()
			_, err = io.Copy(io.Discard, answer.Body)
			require.NoError(t, err)
			assert.Equal(t, test.code, answer.StatusCode)
			if test.code != http.StatusOK {
				c.requireClosed(t)
			}
		})
	}
}

// TestShutdownClosesFreshConnections: a server that shuts down would wait 5 seconds for connections that have sent nothing, or half a
// header.
func TestShutdownClosesFreshConnections(t *testing.T) {
	accepted := make(chan struct{}, 2)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.NotFoundHandler()}
	Limit(server, 10, func() { t.Error("a connection was closed for want of room") }, nil)
	assert.Equal(t, 100, server.HTTP2.MaxConcurrentStreams, "each connection has few streams")
	count := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		count(c, state)
		if state == http.StateNew {
			accepted <- struct{}{}
		}
	}
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	for _, text := range []string{"", "GET / HTTP/1.1\r\nHo"} {
		_, err := io.WriteString(connect(t, listener.Addr().String()), text)
		require.NoError(t, err)
		<-accepted
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

// zeros is a body without an end. It counts what was read.
type zeros struct{ read atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	z.read.Add(int64(len(p)))
	return len(p), nil
}

// TestBodyOverHTTP2: a client can send only a little of a body that nobody reads.
func TestBodyOverHTTP2(t *testing.T) {
	s := start(t, 10)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	ctx, leave := context.WithCancel(t.Context())
	var body zeros
	left := make(chan struct{})
	go func() {
		defer close(left)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/wait", io.NopCloser(&body))
		assert.NoError(t, err)
		answer, err := transport.RoundTrip(request)
		if assert.ErrorIs(t, err, context.Canceled) {
			return
		}
		answer.Body.Close()
	}()
	<-s.begun
	require.Eventually(t, func() bool {
		before := body.read.Load()
		time.Sleep(100 * time.Millisecond)
		return before > 0 && body.read.Load() == before
	}, time.Minute, time.Millisecond)
	// The client may read 512 KiB before it sends the first of them.
	assert.LessOrEqual(t, body.read.Load(), int64((512+128)<<10))
	leave()
	<-left
}
