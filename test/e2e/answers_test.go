// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnswers holds what a sender is told for each way to go wrong, and that it is counted and leaves nothing behind.
func TestAnswers(t *testing.T) {
	g := start(t, "yaml:receivers::pprof::server::max_request_body_size: 1000000")
	upload := readProfile(t, "cpu")
	plain := inflated(t, upload)

	tests := []struct {
		name, method, path string
		body               []byte
		headers            []string
		status             int
		reason             string
		text               string
	}{
		{name: "wrong method", method: http.MethodGet, status: http.StatusMethodNotAllowed, reason: "wrong_method"},
		{name: "unknown path", path: "/v1/else", body: upload, status: http.StatusNotFound, reason: "unknown_path"},
		{name: "truncated gzip", body: upload[:len(upload)/2], status: http.StatusBadRequest, reason: "malformed"},
		{name: "gzip with a wrong checksum", body: wrongChecksum(upload), status: http.StatusBadRequest, reason: "malformed"},
		{name: "truncated pprof", body: plain[:len(plain)-1], status: http.StatusBadRequest, reason: "malformed"},
		{
			name: "older text format", body: []byte("heap profile: 1: 2 [3: 4] @ heapprofile\n1: 2 [3: 4] @ 0x1\n"),
			status: http.StatusUnsupportedMediaType, reason: "not_pprof", text: "legacy_formats",
		},
		{
			name: "unknown encoding", body: upload, headers: []string{"Content-Encoding", "compress"},
			status: http.StatusUnsupportedMediaType, reason: "unknown_encoding",
		},
		{
			name: "encoding that the body does not have", body: plain, headers: []string{"Content-Encoding", "gzip"},
			status: http.StatusBadRequest, reason: "malformed",
		},
		{name: "too many bytes on the wire", body: make([]byte, 1000001), status: http.StatusRequestEntityTooLarge, reason: "too_large"},
		{name: "query that is none", path: "/v1/pprof?service.name=%zz", body: upload, status: http.StatusBadRequest, reason: "bad_query"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			method, path := http.MethodPost, "/v1/pprof"
			if test.method != "" {
				method = test.method
			}
			if test.path != "" {
				path = test.path
			}
			before := g.metric(t, "otelcol_receiver_pprof_refusals", `reason="`+test.reason+`"`)
			got := g.send(t, method, path, test.body, test.headers...)
			assert.Equal(t, test.status, got.status, got.text)
			assert.NotEmpty(t, got.text)
			assert.Contains(t, got.text, test.text)
			assert.Empty(t, got.header.Get("Retry-After"), "the same request fails again")
			g.waitForMetric(t, before+1, "otelcol_receiver_pprof_refusals", `reason="`+test.reason+`"`)
		})
	}
	assert.Empty(t, g.files(t))

	t.Log("the gateway still takes a good one")
	g.accept(t, "", upload)
	g.waitForFiles(t, 1)
}

// TestRefusedForNow: the memory limiter refuses, and the sender is told to come back.
func TestRefusedForNow(t *testing.T) {
	g := start(t, `yaml:
processors: {memory_limiter: {check_interval: 100ms, limit_mib: 1, spike_limit_mib: 0}}
service: {pipelines: {profiles: {processors: [memory_limiter]}}}
`)
	upload := readProfile(t, "cpu")
	var got answer
	require.Eventually(t, func() bool {
		got = g.post(t, "", upload)
		return got.status != http.StatusNoContent
	}, patience, patience/100, "the memory limiter never refuses")
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
	assert.NotEmpty(t, got.header.Get("Retry-After"))
	assert.NotZero(t, g.metric(t, "otelcol_receiver_pprof_refusals", `reason="consumer_unavailable"`))
}

// TestEmptyProfile is accepted and counted.
func TestEmptyProfile(t *testing.T) {
	g := start(t)
	const countOfSamples = "\x0a\x04\x08\x01\x10\x02" // sample_type {type: 1, unit: 2}
	const strings = "\x32\x00\x32\x07samples\x32\x05count"
	g.accept(t, "?service.name=idle", []byte(countOfSamples+strings))
	g.waitForMetric(t, 1, "otelcol_receiver_pprof_empty_profiles")
}

// wrongChecksum changes the CRC-32 in the trailer of a gzip file.
func wrongChecksum(gzipped []byte) []byte {
	broken := bytes.Clone(gzipped)
	broken[len(broken)-8] ^= 1
	return broken
}

func inflated(t *testing.T, gzipped []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(gzipped))
	require.NoError(t, err)
	var plain bytes.Buffer
	_, err = plain.ReadFrom(reader)
	require.NoError(t, err)
	return plain.Bytes()
}
