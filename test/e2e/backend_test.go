// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
)

// TestLongWait: a backend asks otlp_grpc to wait for a hundred years, with a text of a megabyte. The next attempt is a minute away,
// and the log stays short.
func TestLongWait(t *testing.T) {
	answer, err := status.New(codes.Unavailable, strings.Repeat("come later ", 100_000)).
		WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1e6 * time.Hour)})
	require.NoError(t, err)
	backend, err := otlpsink.Start(t.Context(), "127.0.0.1:0", func(context.Context, pprofile.Profiles) error { return answer.Err() })
	require.NoError(t, err)
	t.Cleanup(backend.Stop)
	g := start(t, `yaml:
extensions: {memory_budget: {}}
exporters:
  otlp_grpc:
    endpoint: `+backend.Address()+`
    tls: {insecure: true}
    middlewares: [{id: memory_budget}]
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions: [health_check, pprof, memory_budget]
  pipelines: {profiles: {exporters: [otlp_grpc]}}
`)
	g.accept(t, "?service.name=checkout", readProfile(t, "cpu"))
	require.Eventually(t, func() bool { return strings.Contains(g.Log(), "Will retry the request") }, patience, patience/1000)
	assert.Contains(t, g.Log(), `"interval": "1m0s"`)
	assert.Less(t, len(g.Log()), 64<<10)
}
