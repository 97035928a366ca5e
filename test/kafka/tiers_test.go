// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topic      = "otlp_profiles"
	partitions = 8
	// patience is how long anything may take that the tiers do by themselves.
	patience = 2 * time.Minute
)

// frontConfig and backConfig put the addresses of a test over those of the configuration.
const frontConfig = `yaml:
receivers:
  pprof:
    server:
      endpoint: %s
  splunk_log_profile:
    protocols:
      grpc:
        endpoint: %s
      http:
        endpoint: %s
exporters:
  kafka:
    brokers: ["%s"]
extensions:
  health_check:
    endpoint: %s
service:
  telemetry:
    metrics:
      level: none
      readers: []
`

const backConfig = `yaml:
receivers:
  kafka:
    brokers: ["%s"]
exporters:
  otlp_grpc:
    endpoint: %s
    compression: gzip
extensions:
  health_check:
    endpoint: %s
service:
  telemetry:
    metrics:
      level: none
      readers: []
`

// tiers is a broker with a front tier before it and a destination at its end.
type tiers struct {
	cluster *kfake.Cluster
	broker  string
	front   *gateway.Gateway
	// intake takes pprof, otlp takes OTLP over gRPC.
	intake, otlp string
	// destination gets what the back tier sends, account says what arrived there.
	destination *otlpsink.Sink
	account     *profiletest.Account
}

func startTiers(t *testing.T) *tiers {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	ts := &tiers{cluster: cluster, broker: cluster.ListenAddrs()[0], account: profiletest.NewAccount()}
	ts.destination = ts.startDestination(t, "127.0.0.1:0")
	addresses, err := gateway.FreeAddresses(t.Context(), 4)
	require.NoError(t, err)
	ts.intake, ts.otlp = addresses[0], addresses[1]
	ts.front = run(t, addresses[3], "../../config/kafka-front.yaml",
		fmt.Sprintf(frontConfig, ts.intake, ts.otlp, addresses[2], ts.broker, addresses[3]))
	return ts
}

// startDestination takes what a Collector of the back tier sends to this address.
func (ts *tiers) startDestination(t *testing.T, address string) *otlpsink.Sink {
	t.Helper()
	destination, err := otlpsink.Start(t.Context(), address, func(_ context.Context, pd pprofile.Profiles) error {
		ts.account.Arrived(pd)
		// A message has each symbol once.
		assert.NoError(t, profiletest.CheckOptions{AllowAttributeStrings: true}.Check(pd))
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(destination.Stop)
	return destination
}

// startBack runs a Collector of the back tier that sends to this address.
func (ts *tiers) startBack(t *testing.T, destination string) *gateway.Gateway {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	return run(t, addresses[0], "../../config/kafka-back.yaml",
		fmt.Sprintf(backConfig, ts.broker, destination, addresses[0]))
}

// run runs the distribution until the test ends, or ends it.
func run(t *testing.T, health string, configs ...string) *gateway.Gateway {
	t.Helper()
	return gatewaytest.Run(t, gateway.Options{Configs: configs, HealthURL: "http://" + health})
}
