// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// A backend can neither stop an exporter for long nor fill its log.
func TestLimitedAnswersOverGRPC(t *testing.T) {
	for name, test := range map[string]struct{ asked, wait time.Duration }{
		"years": {1e6 * time.Hour, maxRetryWait},
		"short": {time.Second, time.Second},
	} {
		answer := must.Get(status.New(codes.Unavailable, strings.Repeat("no\n", 1<<18)).WithDetails(
			&errdetails.DebugInfo{Detail: strings.Repeat("x", 1<<18)},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(test.asked)},
		))(t)
		next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return answer.Err() })
		require.NoError(t, err)
		r := run(t, nil, next)
		options := must.Get(r.GetGRPCClientOptions(t.Context()))(t)
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
		wrap := must.Get(new(memoryBudget).GetHTTPRoundTripper(t.Context()))(t)
		limited := must.Get(wrap(t.Context(), transport))(t)
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, backend.URL, http.NoBody))(t)
		response := must.Get(limited.RoundTrip(request))(t)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.Header.Get("Retry-After"), text)
		assert.EqualValues(t, maxAnswerBytes, transport.MaxResponseHeaderBytes)
		backend.Close()
	}
}

// stranger is an authenticator that knows nobody.
type stranger struct{ component.Component }

func (stranger) Authenticate(ctx context.Context, _ map[string][]string) (context.Context, error) {
	return ctx, errors.New("unknown client")
}

// TestGRPCAuthenticatesFirst: without credentials, a client learns nothing of its message, and its memory is free again.
func TestGRPCAuthenticatesFirst(t *testing.T) {
	r := runAuthenticated(t, map[string]any{"limit_mib": 32}, consumertest.NewNop(), stranger{})
	empty := bytes.Repeat([]byte{0x0a, 0}, 1<<20) // a million resources
	for name, body := range map[string][]byte{
		"valid": marshaled(t, records(1, 1)), "malformed": {0x0a}, "deep": nestedValue(33), "expensive": empty,
	} {
		for _, compression := range []string{"", "gzip"} {
			err := send(t.Context(), r.dial(t), body, compression)
			require.Equal(t, codes.Unauthenticated, status.Code(err), "%s: %v", name, err)
			assert.Contains(t, err.Error(), "unknown client", name)
		}
	}
	r.requireFree(t)
	for _, reason := range []string{"malformed", "too_deep", "too_large"} {
		assert.Zero(t, r.refusals(t, reason), reason)
	}
}

func TestDefaultConfig(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, cfg.Validate())
	assert.Equal(t, memory.PartOfProcess(40), cfg.limit())
	cfg.LimitMiB = 100
	assert.Equal(t, int64(100<<20), cfg.limit())
}

func TestValidate(t *testing.T) { configtest.CheckRefused(t, createDefaultConfig) }

func TestLifecycle(t *testing.T) {
	lifecycletest.Check(t, func() (extension.Extension, error) {
		return NewFactory().Create(t.Context(), extensiontest.NewNopSettings(typ), NewFactory().CreateDefaultConfig())
	})
}
