// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestVersion: over both transports, a request of the version that pdata reads is accepted. Any other is refused and counted.
func TestVersion(t *testing.T) {
	var sink consumertest.LogsSink
	r := run(t, nil, &sink)
	connection := r.dial(t)
	body := marshaled(t, records(1, 1))
	for _, test := range []struct {
		versions []string
		says     string
	}{
		{nil, ""},
		{[]string{"1"}, ""},
		{[]string{"2"}, `otlp-profiles-development-version is "2", supported is 1`},
		{[]string{""}, `is "", supported is 1`},
		{[]string{"1", "1"}, "must appear once, appears 2 times"},
	} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{versionHeader: test.versions})
		err := send(ctx, connection, body, "")
		code, text := r.postVersions(t, body, test.versions)
		if test.says == "" {
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, code)
			continue
		}
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, test.says)
		assert.Equal(t, http.StatusBadRequest, code)
		assert.Contains(t, text, test.says)
	}
	assert.Equal(t, 4, sink.LogRecordCount())
	r.requireFree(t)
	assert.Equal(t, int64(6), r.refusals(t, "unsupported_version"))
}

func (r *running) postVersions(t *testing.T, body []byte, versions []string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.http+"/v1/logs", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", protoType)
	for _, version := range versions {
		request.Header.Add(versionHeader, version)
	}
	response, err := r.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}
