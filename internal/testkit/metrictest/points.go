// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrictest compares the metrics of a component with what a test expects.
package metrictest // import "github.com/otelpprof/otelpprof/internal/testkit/metrictest"

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
)

// onlyValues ignores what no test can know.
var onlyValues = []metricdatatest.Option{metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars()}

// AssertPoints compares the data points of a counter or gauge, without their times and exemplars.
func AssertPoints(t *testing.T, telemetry *componenttest.Telemetry, name string, want []metricdata.DataPoint[int64]) {
	t.Helper()
	got, err := telemetry.GetMetric(name)
	require.NoError(t, err)
	switch data := got.Data.(type) {
	case metricdata.Sum[int64]:
		want := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: data.IsMonotonic, DataPoints: want}
		metricdatatest.AssertEqual(t, want, data, onlyValues...)
	case metricdata.Gauge[int64]:
		metricdatatest.AssertEqual(t, metricdata.Gauge[int64]{DataPoints: want}, data, onlyValues...)
	default:
		require.Fail(t, "not a counter or a gauge", "%s is a %T", name, data)
	}
}

// AssertObservations compares the attributes of a histogram, and how many durations it has of each, but not the durations.
func AssertObservations(t *testing.T, telemetry *componenttest.Telemetry, name string, want map[attribute.Set]uint64) {
	t.Helper()
	got, err := telemetry.GetMetric(name)
	require.NoError(t, err)
	require.IsType(t, metricdata.Histogram[float64]{}, got.Data)
	counts := map[attribute.Set]uint64{}
	for _, point := range got.Data.(metricdata.Histogram[float64]).DataPoints {
		counts[point.Attributes] = point.Count
	}
	require.Equal(t, want, counts)
}
