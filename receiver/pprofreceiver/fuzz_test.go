// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// FuzzHandler sends a body with a query, a Content-Encoding and a header to the handler. The answer is either 204, with
// one conforming message, or a defined error, without a message.
func FuzzHandler(f *testing.F) {
	valid := plain(f, cpuProfile(2))
	for _, body := range [][]byte{
		nil, valid, gz(f, valid), zs(f, gz(f, valid)), valid[:len(valid)/2], []byte(heapText), []byte("--- threadz 1 ---\n"),
		plain(f, cpuProfile(0)), append(bytes.Clone(valid), valid...),
	} {
		f.Add(body, "service.name=a&resource.b=c&profile.name=d", "", "e")
		f.Add(body, "resource.=%zz&&=", "gzip", "")
	}
	addFormats(f, "sample_type=a/b&format=")
	for _, payload := range profiletest.ClientPayloads(f) {
		if len(payload.Data) < 4<<10 {
			f.Add(payload.Data, "", "", "")
		}
	}
	cfg := createDefaultConfig().(*Config)
	cfg.Limits.InflatedBytes = 1 << 20
	section := cfg.Server.Get()
	section.LegacyFormats = true
	section.ResourceHeaders = map[string]string{"X-Service": "service.name"}
	next := &sink{}
	r, err := newReceiver(receivertest.NewNopSettings(metadata.Type), cfg, next)
	require.NoError(f, err)
	handler := r.sections[0].(*server).handler()

	f.Fuzz(func(t *testing.T, body []byte, query, encoding, service string) {
		next.got, next.ctx = nil, nil
		request := httptest.NewRequest(http.MethodPost, "/v1/pprof", bytes.NewReader(body))
		request.URL = &url.URL{Path: "/v1/pprof", RawQuery: query}
		request.Header.Set("Content-Encoding", encoding)
		request.Header.Set("X-Service", service)
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != http.StatusNoContent {
			require.True(t, inTable(response.Code), "status %d", response.Code)
			require.NotEqual(t, http.StatusInternalServerError, response.Code, response.Body)
			require.NotEmpty(t, response.Body.String())
			require.Empty(t, next.got)
			return
		}
		require.Len(t, next.got, 1)
		require.NoError(t, asInPprof.Check(next.got[0]))
	})
}

func inTable(status int) bool {
	for _, answer := range &refusal.Answers {
		if answer.Status == status {
			return true
		}
	}
	return false
}
