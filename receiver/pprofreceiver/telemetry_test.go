// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMetrics(t *testing.T) {
	r := run(t, nil)
	full, empty := plain(t, cpuProfile(3)), plain(t, cpuProfile(0))
	compressed := gz(t, full)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", compressed).status)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", full).status)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", empty).status)
	require.Equal(t, http.StatusBadRequest, r.post(t, "/v1/pprof", full[:len(full)-1]).status)

	wire, inflated := len(compressed)+2*len(full)-1+len(empty), 3*len(full)-1+len(empty)
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_payloads", []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(apiPprof), Value: 4}})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_bytes", points("form", map[string]int64{"wire": int64(wire), "inflated": int64(inflated)}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_empty_profiles", []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(apiPprof), Value: 1}})
	metrictest.AssertObservations(t, r.telemetry, "otelcol_receiver_pprof_translate_duration", map[attribute.Set]uint64{attribute.NewSet(apiPprof): 4})
	r.assertRefusals(t, map[string]int64{"malformed": 1})

	// From the receiver helper: 3 samples of 2 types, twice.
	assert.EqualValues(t, 12, r.standard(t, "otelcol_receiver_accepted_profile_samples"))
	assert.EqualValues(t, 0, r.standard(t, "otelcol_receiver_refused_profile_samples"))
}

// standard returns the value of a metric of the receiver helper.
func (r *running) standard(t *testing.T, name string) int64 {
	t.Helper()
	metric, err := r.telemetry.GetMetric(name)
	require.NoError(t, err)
	all := metric.Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, all, 1)
	assert.Equal(t, attribute.NewSet(attribute.String("receiver", "pprof"), attribute.String("transport", "http")), all[0].Attributes)
	return all[0].Value
}

// TestRepairs: every field of pprof.Repairs has its own kind, and is counted.
func TestRepairs(t *testing.T) {
	r := run(t, nil)
	var stats pprof.DecodeStats
	stats.Samples = 1
	fields := reflect.ValueOf(&stats.Repairs).Elem()
	require.Len(t, repairKinds, fields.NumField(), "each repair has a kind")
	for i := range fields.NumField() {
		fields.Field(i).SetInt(int64(i + 1))
	}
	newAPIMetrics(r.receiver.intake.metrics, "pprof").accepted(t.Context(), &stats)
	want := map[string]int64{}
	for i, repair := range repairKinds {
		want[repair.kind] = int64(i + 1)
	}
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_repairs", points("kind", want))
}

// TestRepairsOfPayload: a repair of a payload is counted.
func TestRepairsOfPayload(t *testing.T) {
	r := run(t, nil)
	body := append(plain(t, cpuProfile(1)), 0xf8, 0x07, 1) // Field 127, a varint.
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", body).status)
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_repairs", points("kind", map[string]int64{"unknown_field": 1}))
}

// TestRepairsOfRecording: what was missing or wrong in a recording is counted.
func TestRepairsOfRecording(t *testing.T) {
	r := run(t, nil)
	recording := jfrtest.New()
	recording.Header = jfrtest.Header{StartNanos: 5e9, StartTicks: 7e9, TicksPerSecond: 1e9}
	recording.ExecutionSample(7e9, 0, 6, 0, jfrtest.Context{}) // Stack 6 does not exist.
	recording.ExecutionSample(7e9, 0, 6, 0, jfrtest.Context{})
	recording.ExecutionSample(1e9, 0, recording.Stack(false), 0, jfrtest.Context{}) // Before 1970.
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", recording.Bytes()).status)
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_repairs", points("kind", map[string]int64{"no_stack": 2, "invalid_time": 1}))
}

// TestMetadataFromResource holds that what the resource says comes to the next consumer as metadata, beside the tenant.
func TestMetadataFromResource(t *testing.T) {
	r := run(t, func(c *Config, _ *ServerConfig) { c.MetadataFromResource = []string{"service.name"} })
	got := r.post(t, "/v1/pprof?service.name=checkout", plain(t, cpuProfile(1)), tenantHeader, "acme")
	require.Equal(t, 204, got.status, got.text)
	metadata := client.FromContext(r.sink.ctx[0]).Metadata
	assert.Equal(t, []string{"checkout"}, metadata.Get("service.name"))
	assert.Equal(t, []string{"acme"}, metadata.Get(tenantHeader))
}
