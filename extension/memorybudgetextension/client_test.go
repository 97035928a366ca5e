// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A backend can neither stop an exporter for long nor fill its log.
func TestLimitedAnswersOverGRPC(t *testing.T) {
	for name, test := range map[string]struct{ asked, wait time.Duration }{
		"years": {1e6 * time.Hour, maxRetryWait},
		"short": {time.Second, time.Second},
	} {
		answer, err := status.New(codes.Unavailable, strings.Repeat("no\n", 1<<18)).WithDetails(
			&errdetails.DebugInfo{Detail: strings.Repeat("x", 1<<18)},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(test.asked)},
		)
		require.NoError(t, err)
		next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return answer.Err() })
		require.NoError(t, err)
		r := run(t, nil, next)
		options, err := r.GetGRPCClientOptions(t.Context())
		require.NoError(t, err)
		_, err = plogotlp.NewGRPCClient(r.dial(t, options...)).Export(t.Context(), records(1, 1))
		got := status.Convert(err)
		assert.Equal(t, codes.Unavailable, got.Code(), name)
		assert.Len(t, []rune(got.Message()), maxAnswerText+1, name)
		require.Len(t, got.Details(), 1, name)
		assert.Equal(t, test.wait, got.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration(), name)
	}
}

func TestLimitedAnswersOverHTTP(t *testing.T) {
	const minute = "60"
	for text, want := range map[string]string{
		"":                              "",
		"7":                             "7",
		"60":                            minute,
		"61":                            minute,
		"3600000000":                    minute,
		"99999999999999999999999":       minute,
		"Fri, 01 Jan 2100 00:00:00 GMT": minute,
		"Fri, 01 Jan 2100 00:00:00 CET": minute,
		"Fri, 01 Jan 2010 00:00:00 GMT": "Fri, 01 Jan 2010 00:00:00 GMT",
	} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		transport := &http.Transport{DisableKeepAlives: true}
		wrap, err := new(memoryBudget).GetHTTPRoundTripper(t.Context())
		require.NoError(t, err)
		limited, err := wrap(t.Context(), transport)
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, backend.URL, http.NoBody)
		require.NoError(t, err)
		response, err := limited.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.Header.Get("Retry-After"), text)
		assert.EqualValues(t, maxAnswerBytes, transport.MaxResponseHeaderBytes)
		backend.Close()
	}
}
