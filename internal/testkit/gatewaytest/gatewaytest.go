// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gatewaytest runs the built distribution for tests.
package gatewaytest // import "github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// stopsWithin is the time limit for a gateway to stop.
const stopsWithin = time.Minute

// Binary returns the path of the built distribution, which OTELPPROF_BINARY names. Without it the test skips, or fails where CI is
// set.
func Binary(tb testing.TB) string {
	tb.Helper()
	path := os.Getenv("OTELPPROF_BINARY")
	if path == "" {
		requirement.Missing(tb, "OTELPPROF_BINARY does not name the built distribution: run the test with make, as CONTRIBUTING.md says")
	}
	return path
}

// Run runs [Binary] until the test ends, and waits until options.HealthURL answers. It sets options.Binary. The test can stop the
// gateway before. The test fails if the gateway ends by itself. If the test fails, Run logs the output of the gateway.
func Run(t *testing.T, options gateway.Options) *gateway.Gateway {
	t.Helper()
	options.Binary = Binary(t)
	// The context of the test ends before its cleanups run.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	running, err := gateway.Start(ctx, options)
	if err != nil {
		cancel()
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		defer cancel()
		if running.Running() {
			assert.NoError(t, running.Stop(stopsWithin))
		} else {
			assert.NoError(t, running.Crashed())
		}
		if t.Failed() {
			t.Logf("the gateway said:\n%.20000s", running.Log())
		}
	})
	return running
}

// onceConfig is a gateway that drops what comes again. It has a queue, so that it finishes what a sender began that dies in the middle
// of a call: without one, nobody could tell whether the call arrived.
const onceConfig = `yaml:
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
        max_recv_msg_size_mib: 64
processors:
  profile_deduplicator:
    drop_repeated:
exporters:
  otlp_grpc:
    endpoint: %s
    timeout: 1m
    tls:
      insecure: true
    sending_queue:
      block_on_overflow: true
extensions:
  health_check:
    endpoint: %s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [otlp]
      processors: [profile_deduplicator]
      exporters: [otlp_grpc]
  telemetry:
    metrics:
      level: none
`

// RunOnce runs a gateway before a destination of OTLP over gRPC that passes on each profile once. It returns its address.
func RunOnce(t *testing.T, destination string) (address string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 2)
	require.NoError(t, err)
	Run(t, gateway.Options{
		Configs:   []string{fmt.Sprintf(onceConfig, addresses[0], destination, addresses[1])},
		HealthURL: "http://" + addresses[1],
	})
	return addresses[0]
}
