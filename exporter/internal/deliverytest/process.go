// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Patience is how long a test waits for an event that must happen. It is long enough for slow machines.
const Patience = 2 * time.Minute

// FreeEndpoint returns an address on which nothing listens.
func FreeEndpoint(tb testing.TB) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Counted returns the sum of a counter over the points with an attribute; without one, over all.
func Counted(tb testing.TB, telemetry *componenttest.Telemetry, name, key, value string) int64 {
	tb.Helper()
	m, err := telemetry.GetMetric(name)
	if err != nil {
		return 0 // nothing was counted yet
	}
	sum, isSum := m.Data.(metricdata.Sum[int64])
	require.True(tb, isSum)
	total := int64(0)
	for _, point := range sum.DataPoints {
		if got, found := point.Attributes.Value(attribute.Key(key)); key == "" || found && got.AsString() == value {
			total += point.Value
		}
	}
	return total
}
