// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gatewaytest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

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
