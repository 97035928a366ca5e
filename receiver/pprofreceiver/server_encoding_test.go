// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// encoders are the encodings that the APIs do not decode themselves.
var encoders = map[string]func(tb testing.TB, content []byte) []byte{
	"zlib":            zlibOf,
	"deflate":         zlibOf,
	"x-snappy-framed": snappyFramed,
	"snappy":          func(_ testing.TB, content []byte) []byte { return snappy.Encode(nil, content) },
	"lz4": func(tb testing.TB, content []byte) []byte {
		tb.Helper()
		return lz4Of(tb, bytes.NewReader(content))
	},
}

// TestEncodings accepts each encoding, and refuses bodies that are invalid, truncated, empty or too large, within the
// reserved memory.
func TestEncodings(t *testing.T) {
	profile := plain(t, cpuProfile(5))
	const size = 64 << 20
	bomb := make([]byte, size)
	for encoding, encode := range encoders {
		t.Run(encoding, func(t *testing.T) {
			b := memory.New(1<<30, 0)
			r := runOn(t, budgettest.NewHost(b), nil)
			send := func(body []byte) reply { return r.post(t, "/v1/pprof", body, "Content-Encoding", encoding) }
			got := send(encode(t, profile))
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			r.sink.one(t)

			encoded := encode(t, profile)
			for what, body := range map[string][]byte{"short": encoded[:len(encoded)/2], "other": []byte("no such thing"), "empty": encode(t, nil)} {
				got := send(body)
				assert.Equal(t, http.StatusBadRequest, got.status, "%s: %s", what, got.text)
			}
			r.assertRefusals(t, map[string]int64{"malformed": 3})
			got = send(encode(t, bomb))
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
			assert.Contains(t, got.text, "max_request_body_size, 20971520 bytes")
			used, peak := b.Used()
			assert.Zero(t, used)
			assert.Less(t, peak, int64(128<<20))
		})
	}
	r := run(t, nil)
	got := r.post(t, "/v1/pprof", snappyFramed(t, profile), "Content-Encoding", "snappy")
	assert.Equal(t, http.StatusNoContent, got.status, "older Collectors mean the frames: %s", got.text)
}

// TestEncodingNotAllowed: encodings that are turned off are refused.
func TestEncodingNotAllowed(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.CompressionAlgorithms = []string{"", "zstd"} })
	body := plain(t, cpuProfile(1))
	for encoding, encode := range encoders {
		assert.Equal(t, http.StatusUnsupportedMediaType, r.post(t, "/v1/pprof", encode(t, body), "Content-Encoding", encoding).status, encoding)
	}
	for _, encoding := range []string{"gzip", "x-gzip", "GZIP"} {
		assert.Equal(t, http.StatusUnsupportedMediaType, r.post(t, "/v1/pprof", gz(t, body), "Content-Encoding", encoding).status, encoding)
	}
	r.assertRefusals(t, map[string]int64{"unknown_encoding": int64(len(encoders) + 3)})
	assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", zs(t, body), "Content-Encoding", "zstd").status)
	assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", gz(t, body)).status, "the profile's own compression")
	assert.Equal(t, http.StatusNotFound, r.post(t, "/unknown", body, "Content-Encoding", "lz4").status, "the path goes first")
	assert.Equal(t, http.StatusMethodNotAllowed, r.do(t, http.MethodPut, "/v1/pprof", http.NoBody, "Content-Encoding", "lz4").status)
}

// TestEncodingsWithoutCase: encodings are case-insensitive, also in lists.
func TestEncodingsWithoutCase(t *testing.T) {
	body := plain(t, cpuProfile(2))
	zipped := gz(t, body)
	asForm := formOf("b", "profile", string(body))
	call := pushRequest(false, map[string]string{"service_name": "a"}, body)
	for name, test := range map[string]struct {
		target  string
		body    []byte
		headers []string
	}{
		"gzip":                {target: "/v1/pprof", body: zipped, headers: []string{"Content-Encoding", "GZIP"}},
		"x-gzip":              {target: "/v1/pprof", body: zipped, headers: []string{"Content-Encoding", " X-Gzip "}},
		"zstd":                {target: "/v1/pprof", body: zs(t, body), headers: []string{"Content-Encoding", "ZStd"}},
		"deflate":             {target: "/v1/pprof", body: zlibOf(t, body), headers: []string{"Content-Encoding", "Deflate"}},
		"lz4":                 {target: "/v1/pprof", body: encoders["lz4"](t, body), headers: []string{"Content-Encoding", "LZ4"}},
		"framed snappy":       {target: "/v1/pprof", body: snappyFramed(t, body), headers: []string{"Content-Encoding", "X-Snappy-Framed"}},
		"identity":            {target: "/v1/pprof", body: body, headers: []string{"Content-Encoding", "Identity"}},
		"nothing":             {target: "/v1/pprof", body: body, headers: []string{"Content-Encoding", ""}},
		"a list of one":       {target: "/v1/pprof", body: zipped, headers: []string{"Content-Encoding", "GZIP, "}},
		"identity in a list":  {target: "/v1/pprof", body: zlibOf(t, body), headers: []string{"Content-Encoding", "identity,ZLIB,"}},
		"a form":              {target: "/ingest?name=a", body: gz(t, asForm), headers: []string{"Content-Type", multipartType, "Content-Encoding", "GZIP"}},
		"folded stacks":       {target: "/ingest?name=a&format=groups", body: gz(t, []byte("a;b 1")), headers: []string{"Content-Encoding", "Gzip"}},
		"a call of Connect":   {target: pushPath, body: gz(t, call), headers: []string{"Content-Type", "application/proto", "Content-Encoding", "GZip"}},
		"an upload (Datadog)": {target: "/profiling/v1/input", body: gz(t, formOf("b", "cpu.pprof", string(body), "event", event)), headers: []string{"Content-Type", multipartType, "Content-Encoding", "GZIP"}},
	} {
		r := run(t, nil)
		got := r.post(t, test.target, test.body, test.headers...)
		assert.Less(t, got.status, 300, "%s: %s", name, got.text)
		assert.Len(t, r.sink.all(), 1, name)
	}
	for encoding, status := range map[string]int{"BR": 415, "gzip, br": 415, "GZIP, GZIP": 415, "GZIP": 400} {
		r := run(t, nil)
		got := r.post(t, "/v1/pprof", body, "Content-Encoding", encoding)
		assert.Equal(t, status, got.status, "%s: %s", encoding, got.text)
	}
}

// FuzzDecode decodes any bytes with any encoding. The reserved memory is at least the size of the result.
func FuzzDecode(f *testing.F) {
	for encoding, encode := range encoders {
		f.Add(encode(f, []byte("content")), encoding)
	}
	f.Add([]byte("\xff\x06\x00\x00sNaPpY\x00"), "snappy")
	f.Fuzz(func(t *testing.T, body []byte, encoding string) {
		const limit = 1 << 20
		cfg := defaultServerConfig()
		cfg.HTTP.MaxRequestBodySize = limit
		b := memory.New(1<<30, 0)
		m, err := (&intake{budget: b}).begin(t.Context(), 0, func() {})
		require.NoError(t, err)
		defer m.arrival.Release()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Content-Encoding", encoding)
		decoded, err := (&server{cfg: &cfg}).decode(request, m, bytes.Clone(body))
		if err != nil {
			require.Contains(t, []refusalClass{malformed, tooLarge}, classOf(err), err)
			return
		}
		if encoders[encoding] != nil {
			require.LessOrEqual(t, len(decoded), limit)
			require.GreaterOrEqual(t, used(b), int64(len(decoded)))
			return
		}
		require.Equal(t, body, append([]byte{}, decoded...))
	})
}

// TestManyConnections: an honest client is served while another client opens the maximum number of connections.
func TestManyConnections(t *testing.T) {
	const most, hostile = 20, 200
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConnections = most })
	for range hostile {
		r.raw(t, "POST /v1/pprof HTTP/1.1\r\nHost: ")
	}
	got := r.post(t, "/v1/pprof", plain(t, cpuProfile(1)))
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	metric, err := r.telemetry.GetMetric("otelcol_receiver_pprof_closed_connections")
	require.NoError(t, err)
	assert.NotNil(t, metric)
}

// TestManyStreams: HTTP/2 streams without a body are limited by the budget, and those that have stalled are refused.
func TestManyStreams(t *testing.T) {
	const fit, streams = 20, 100
	r := runOn(t, budgettest.NewHost(memory.New(fit*(requestBytes+1<<10), 5*time.Second)), nil)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	body, end := io.Pipe()
	var answered atomic.Int64
	var group sync.WaitGroup
	for range streams {
		group.Go(func() {
			response, err := (&http.Client{Transport: transport}).Post(r.url+"/v1/pprof", "", body)
			answered.Add(1)
			if err == nil {
				assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
				response.Body.Close()
			}
		})
	}
	budget := r.receiver.intake.budget
	assert.Eventually(t, func() bool { return answered.Load() >= streams-fit }, time.Minute, 10*time.Millisecond)
	assert.LessOrEqual(t, budget.Arriving(), fit+1)
	assert.LessOrEqual(t, used(budget), budget.Size())
	assert.Positive(t, r.refusals("memory_budget"))
	require.NoError(t, end.CloseWithError(io.ErrUnexpectedEOF))
	group.Wait()
	assert.Eventually(t, func() bool {
		return r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status == http.StatusNoContent
	}, time.Minute, 10*time.Millisecond)
}

// countingReader counts the bytes that were read from it. A client may read up to 512 KiB at a time before it sends any of them, so
// it returns few.
type countingReader struct {
	io.Reader
	read atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p[:min(len(p), 16<<10)])
	c.read.Add(int64(n))
	return n, err
}

// TestBuffersHTTP2: while a request waits for memory, its client can only send a little over HTTP/2.
func TestBuffersHTTP2(t *testing.T) {
	b := memory.New(1<<20, time.Minute)
	r := runOn(t, budgettest.NewHost(b), nil)
	r.overHTTP2(t)
	defer r.client.CloseIdleConnections()
	others := holdAllBut(t, b, 64<<10)
	body := &countingReader{Reader: zeros(200 << 10)}
	answered := make(chan reply, 1)
	go func() {
		got, err := r.send(t.Context(), http.MethodPost, "/v1/pprof", body)
		assert.NoError(t, err)
		answered <- got
	}()
	const window, clientBuffer = 64 << 10, 64 << 10
	require.Eventually(t, func() bool { return body.read.Load() >= window }, time.Minute, time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	assert.LessOrEqual(t, body.read.Load(), int64(window+clientBuffer), "bytes that nothing has reserved")
	others.Release()
	assert.Equal(t, http.StatusBadRequest, (<-answered).status, "it is no profile")
}
