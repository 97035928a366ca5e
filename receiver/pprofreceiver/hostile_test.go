// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

var gzippedZeros struct {
	once  sync.Once
	bytes []byte
}

// gzipBomb returns 100 MiB of zeros in gzip: more than a payload may have by default.
func gzipBomb(t *testing.T) []byte {
	t.Helper()
	gzippedZeros.once.Do(func() { gzippedZeros.bytes = gzipped(t, zeros(100<<20)) })
	return gzippedZeros.bytes
}

// TestBombs sends 1 GiB of zeros in every compression. Each is answered with 413, and memory stays low.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses several GiB")
	}
	const size = 1 << 30
	gzipBomb, zstdBomb := gzipped(t, zeros(size)), zstdOf(t, zeros(size))
	r := run(t, nil)
	bombs := []struct {
		name     string
		body     []byte
		encoding string
	}{
		{name: "gzip", body: gzipBomb},
		{name: "zstd", body: zstdBomb},
		{name: "gzip in gzip", body: gz(t, gzipBomb)},
		{name: "gzip in zstd", body: zs(t, gzipBomb)},
		{name: "zstd in gzip", body: gz(t, zstdBomb)},
		{name: "under gzip", body: gzipBomb, encoding: "gzip"},
		{name: "under zstd", body: zstdBomb, encoding: "zstd"},
		{name: "gzip under gzip", body: gz(t, gzipBomb), encoding: "gzip"},
		{name: "gzip under zstd", body: zs(t, gzipBomb), encoding: "zstd"},
		{name: "zstd under snappy", body: snappy.Encode(nil, zstdBomb), encoding: "snappy"},
		{name: "snappy", body: snappy.Encode(nil, make([]byte, 64<<20)), encoding: "snappy"},
	}
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			var headers []string
			if bomb.encoding != "" {
				headers = []string{"Content-Encoding", bomb.encoding}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := r.post(t, "/v1/pprof", bomb.body, headers...)
			runtime.ReadMemStats(&after)
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "bytes allocated for a body of %d", len(bomb.body))
		})
	}
	assert.Empty(t, r.sink.all())
	r.assertRefusals(t, map[string]int64{"too_large": int64(len(bombs))})
}

// TestLimits tests each limit of a payload with a profile above it and one at it.
func TestLimits(t *testing.T) {
	p := cpuProfile(10) // 10 samples of 2 types, 1 label, 1 location
	body := plain(t, p)
	for name, change := range map[string]func(*LimitsConfig, int){
		"inflated_bytes %d": func(l *LimitsConfig, extra int) { l.InflatedBytes = len(body) + extra },
		"samples %d":        func(l *LimitsConfig, extra int) { l.Samples = 20 + extra },
	} {
		for extra, want := range map[int]int{0: http.StatusNoContent, -1: http.StatusRequestEntityTooLarge} {
			t.Run(fmt.Sprintf(name, extra), func(t *testing.T) {
				r := run(t, func(cfg *Config, _ *ServerConfig) { change(&cfg.Limits, extra) })
				got := r.post(t, "/v1/pprof", gz(t, body))
				assert.Equal(t, want, got.status, got.text)
			})
		}
	}
}

// TestWireBytes tests max_request_body_size, with and without an announced length, and with a Content-Encoding.
func TestWireBytes(t *testing.T) {
	body := plain(t, cpuProfile(10))
	limit := int64(len(body))
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.MaxRequestBodySize = limit })
	assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", body).status)

	longer := append(bytes.Clone(body), 0xf8, 0x07, 1)
	for name, got := range map[string]reply{
		"announced":   r.post(t, "/v1/pprof", longer),
		"chunked":     r.do(t, http.MethodPost, "/v1/pprof", io.MultiReader(bytes.NewReader(longer))),
		"behind zlib": r.post(t, "/v1/pprof", zlibOf(t, longer), "Content-Encoding", "zlib"),
		"snappy":      r.post(t, "/v1/pprof", snappy.Encode(nil, longer), "Content-Encoding", "snappy"),
	} {
		assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, name)
		assert.Empty(t, got.header.Get("Retry-After"), "a retry cannot succeed")
		if name != "snappy" {
			assert.Contains(t, got.text, fmt.Sprintf("max_request_body_size, %d bytes", limit), name)
		}
	}
	r.assertRefusals(t, map[string]int64{"too_large": 4})
}

// TestGarbage sends bodies that are not profiles. They are refused with a reason, and nothing is passed on.
func TestGarbage(t *testing.T) {
	body := plain(t, cpuProfile(5))
	checkRefusals(t, "/v1/pprof", nil, map[string]refused{
		"nothing":                  {status: 400, reason: "malformed"},
		"text":                     {body: []byte("hello, world"), status: 400, reason: "malformed"},
		"html":                     {body: []byte("<!DOCTYPE html><html><body>404</body></html>"), status: 415, reason: "unknown_format"},
		"zeros":                    {body: make([]byte, 1000), status: 400, reason: "malformed"},
		"truncated":                {body: body[:len(body)/2], status: 400, reason: "malformed"},
		"truncated gzip":           {body: gz(t, body)[:40], status: 400, reason: "malformed"},
		"truncated zstd":           {body: zs(t, body)[:40], status: 400, reason: "malformed"},
		"truncated gzip in zstd":   {body: zs(t, gz(t, body)[:40]), status: 400, reason: "malformed"},
		"trailing garbage":         {body: append(gz(t, body), "more"...), status: 400, reason: "malformed"},
		"not the encoding it says": {body: body, headers: []string{"Content-Encoding", "gzip"}, status: 400, reason: "malformed"},
		"unknown encoding":         {body: body, headers: []string{"Content-Encoding", "br"}, status: 415, reason: "unknown_encoding"},
		"two encodings":            {body: gz(t, gz(t, body)), headers: []string{"Content-Encoding", "gzip, gzip"}, status: 415, reason: "unknown_encoding"},
		"broken zlib":              {body: body, headers: []string{"Content-Encoding", "zlib"}, status: 400, reason: "malformed"},
		"heap text":                {body: []byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n"), status: 415, reason: "not_pprof", says: "server.legacy_formats"},
		"heap text in gzip":        {body: gz(t, []byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n")), status: 415, reason: "not_pprof"},
	})
}

// raw opens a connection and sends the beginning of a request.
func (r *running) raw(t *testing.T, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

// TestSlowSender: a body that does not arrive in time is refused in the form of its API.
func TestSlowSender(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.ReadTimeout = time.Second })
	part := string(formOf("b", "profile", "content"))[:60]
	for request, says := range map[string]string{
		unfinished(1000, 3): "read_timeout",
		"POST /ingest?name=a HTTP/1.1\r\nHost: x\r\nContent-Type: " + multipartType + "\r\nContent-Length: 100000\r\n\r\n" + part: `{"code":"deadline_exceeded","message":"`,
	} {
		answer := must.Get(io.ReadAll(r.raw(t, request)))(t)
		assert.Contains(t, string(answer), "408 Request Timeout")
		assert.Contains(t, string(answer), says)
	}
	r.assertRefusals(t, map[string]int64{"too_slow": 2})
}

// TestStalledRefusal: without a read_timeout, a client that does not send the rest of a refused body gets its answer, and the
// server can shut down.
func TestStalledRefusal(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.ReadTimeout = 0 })
	conns := map[string]net.Conn{}
	for status, header := range map[string]string{
		"404 Not Found":                "POST /nowhere HTTP/1.1\r\nContent-Length: 1000",
		"405 Method Not Allowed":       "PUT /v1/pprof HTTP/1.1\r\nContent-Length: 1000",
		"413 Request Entity Too Large": "POST /v1/pprof HTTP/1.1\r\nContent-Length: 100000000",
		"415 Unsupported Media Type":   "POST /v1/pprof HTTP/1.1\r\nContent-Length: 1000\r\nContent-Encoding: br",
	} {
		conns[status] = r.raw(t, header+"\r\nHost: x\r\n\r\nxxx")
	}
	for status, conn := range conns {
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, status)
		assert.Contains(t, string(answer), status)
	}
	require.NoError(t, r.receiver.Shutdown(context.WithoutCancel(t.Context())))
}

// TestStalledEndsItsConnection: the connection of a request that was ended because it had stalled serves no other one, even if the rest
// of the body arrives: net/http would give it a context that has ended, so it would be refused for ever.
func TestStalledEndsItsConnection(t *testing.T) {
	b := memory.New(8<<20, time.Minute)
	r := runOn(t, budgettest.NewHost(b), nil)
	const announced, sent = 200_000, 100_000
	conn := r.raw(t, unfinished(announced, sent))
	r.waitArriving(t, 1)
	other, err := budgettest.Reserve(t.Context(), b, 7<<20) // all that a request may have
	require.NoError(t, err)
	defer other.Release()
	_, err = io.WriteString(conn, strings.Repeat("x", announced-sent))
	require.NoError(t, err)
	answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	assert.True(t, answer.Close)
}

// TestStalledRefusalHTTP2 is the same over HTTP/2. A client that is still writing gets its answer, too: at the end of its body
// if that is not large, since some clients need that.
func TestStalledRefusalHTTP2(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.ReadTimeout = 0 })
	r.overHTTP2(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for target, status := range map[string]int{"/nowhere": http.StatusNotFound, "/v1/pprof": http.StatusMethodNotAllowed} {
		stalled, end := io.Pipe()
		defer end.Close()
		got, err := r.send(ctx, http.MethodPut, target, stalled)
		require.NoError(t, err)
		assert.Equal(t, status, got.status, target)
		for _, size := range []int64{1 << 20, 50 << 20} {
			body := &countingReader{Reader: zeros(size)}
			got, err = r.send(ctx, http.MethodPut, target, body)
			require.NoError(t, err)
			assert.Equal(t, status, got.status, target)
			assert.GreaterOrEqual(t, body.read.Load(), min(size, drainedBytes))
			assert.LessOrEqual(t, body.read.Load(), int64(drainedBytes+1<<20), "and what is in buffers")
		}
	}
	r.client.CloseIdleConnections()
	require.NoError(t, r.receiver.Shutdown(context.WithoutCancel(t.Context())))
}

// overHTTP2 makes the client use HTTP/2 in clear text.
func (r *running) overHTTP2(t *testing.T) {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	r.client.Transport = &http.Transport{Protocols: protocols}
}

func TestAbortedUpload(t *testing.T) {
	r := run(t, nil)
	for _, beginning := range []string{
		unfinished(1000, 0),
		unfinished(1000, 3),
		unfinished(1_000_000, 100_000),
		"POST /v1/pprof HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
	} {
		conn := r.raw(t, beginning)
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return r.refusals("aborted") == 4 }, time.Minute, 5*time.Millisecond)
	assert.Empty(t, r.sink.all())
	assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status, "the limiter was released")
}

func TestBrokenChunks(t *testing.T) {
	r := run(t, nil)
	conn := r.raw(t, "POST /v1/pprof HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\nzz")
	answer := must.Get(io.ReadAll(conn))(t)
	assert.Contains(t, string(answer), "400 Bad Request")
	r.assertRefusals(t, map[string]int64{"malformed": 1})
}

// TestAnnouncedLengthIsNotTrusted announces 5 MB and sends little, many times.
func TestAnnouncedLengthIsNotTrusted(t *testing.T) {
	r := run(t, nil)
	const senders = 20
	used := memorytest.Allocated(func() {
		for range senders {
			r.raw(t, unfinished(5_000_000, 70_000))
		}
		r.waitArriving(t, senders)
	})
	assert.Less(t, used, int64(senders<<20), "5 MB each were announced")
}

// waitArriving waits until n bodies are arriving.
func (r *running) waitArriving(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return r.receiver.intake.budget.Arriving() == n }, time.Minute, 5*time.Millisecond)
}

// unfinished returns a request that announces a length and sends less.
func unfinished(announced, sent int) string {
	return fmt.Sprintf("POST /v1/pprof HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", announced, strings.Repeat("x", sent))
}
