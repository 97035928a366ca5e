// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// config is a gateway with all receivers and a queue on disk. It answers after a profile is in the queue.
const config = `yaml:
receivers:
  pprof:
    server:
      endpoint: %s
  otlp:
    protocols:
      grpc:
        endpoint: %s
        max_recv_msg_size_mib: 64
  splunk_log_profile:
    protocols:
      http:
        endpoint: %s
processors:
  memory_limiter:
    check_interval: 100ms
    limit_mib: %d
    spike_limit_mib: %d
  profile_deduplicator:
exporters:
  otlp_grpc:
    endpoint: %s
    # A destination that shares a busy machine takes its time; what is given up is sent again, which makes it no faster.
    timeout: 1m
    tls:
      insecure: true
    sending_queue:
      storage: file_storage
      sizer: bytes
      queue_size: 1000000000
    retry_on_failure:
      initial_interval: 50ms
      max_interval: 500ms
      max_elapsed_time: 0
extensions:
  file_storage:
    directory: %s
    create_directory: true
  health_check:
    endpoint: %s
service:
  extensions: [file_storage, health_check]
  pipelines:
    profiles:
      receivers: [pprof, otlp, splunk_log_profile]
      processors: [memory_limiter, profile_deduplicator]
      exporters: [otlp_grpc]
  telemetry:
    metrics:
      readers:
        - pull:
            exporter:
              prometheus:
                host: 127.0.0.1
                port: %s
                without_scope_info: true
                without_type_suffix: true
                without_units: true
`

// Gateway describes a gateway. Its addresses and its queue stay the same when it is restarted.
type Gateway struct {
	Targets
	// Metrics is the address of its metrics.
	Metrics string

	binary, health string
	configs        []string
	environment    []string
	gates          []string
}

// GatewayOptions are the options that differ between runs.
type GatewayOptions struct {
	Binary string
	// Destination receives OTLP over gRPC.
	Destination string
	// Queue is the directory of the queue.
	Queue string
	// MemoryMiB is the limit of the memory limiter.
	MemoryMiB int
	// More has additional configuration.
	More []string
	// Environment is added to the environment of the caller.
	Environment []string
	// Gates are feature gates to enable.
	Gates []string
}

// NewGateway finds free addresses for a gateway. It does not start the gateway.
func NewGateway(ctx context.Context, options GatewayOptions) (*Gateway, error) {
	addresses, err := gateway.FreeAddresses(ctx, 5)
	if err != nil {
		return nil, err
	}
	_, metricsPort, err := net.SplitHostPort(addresses[4])
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(config, addresses[0], addresses[1], addresses[2], options.MemoryMiB, options.MemoryMiB/5,
		options.Destination, options.Queue, addresses[3], metricsPort)
	return &Gateway{
		Targets:     Targets{Pprof: addresses[0], OTLP: addresses[1], Splunk: addresses[2]},
		Metrics:     addresses[4],
		binary:      options.Binary,
		health:      "http://" + addresses[3],
		configs:     append([]string{text}, options.More...),
		environment: options.Environment,
		gates:       options.Gates,
	}, nil
}

// starts is the number of attempts of Start if an address is in use.
const starts = 30

// Start starts the gateway. It is killed when ctx ends. While the gateway is down, another process can use its address
// for a moment to find free ports. Then Start tries again.
func (g *Gateway) Start(ctx context.Context) (running *gateway.Gateway, err error) {
	options := gateway.Options{Binary: g.binary, Configs: g.configs, HealthURL: g.health, Environment: g.environment, Gates: g.gates}
	for range starts {
		running, err = gateway.Start(ctx, options)
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			return running, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
	return nil, err
}
