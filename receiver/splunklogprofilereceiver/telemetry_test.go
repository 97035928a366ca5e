// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// points returns data points with one attribute each.
func points(key string, values map[string]int64) []metricdata.DataPoint[int64] {
	var all []metricdata.DataPoint[int64]
	for value, count := range values {
		all = append(all, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String(key, value)), Value: count})
	}
	return all
}

func point(count int64) []metricdata.DataPoint[int64] {
	return []metricdata.DataPoint[int64]{{Value: count}}
}

func TestMetrics(t *testing.T) {
	profiles := new(consumertest.ProfilesSink)
	r := run(t, pipelines{profiles: profiles}, nil)
	send := func(want int, name string) {
		body, err := os.ReadFile(profiletest.Testdata(t, "splunk", name))
		require.NoError(t, err)
		status, text := r.post(t, "/v1/logs", protobuf, body)
		require.Equal(t, want, status, text)
	}
	send(200, "splunk-otel-python/cpu-continuous.pb")
	send(200, "splunk-otel-java/text-v1.22-cpu-noframe.pb")
	send(200, "splunk-otel-js/v1.2.0-text-mixed-grpc.pb")
	status, _ := r.postLogs(t, mixed(brokenLogs(t), ordinaryLogs("a", "b")))
	require.Equal(t, 400, status)

	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_records", points("format", map[string]int64{"pprof": 3, "text": 26}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_refusals", points("reason", map[string]int64{"base64": 3}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_other_records", points("outcome", map[string]int64{"dropped": 2}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_repairs", points("kind", map[string]int64{"skipped_line": 1}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_events", point(15+1+25))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_samples", point(int64(profiles.SampleCount())))
	metrictest.AssertObservations(t, r.telemetry, "otelcol_receiver_splunk_log_profile_translate_duration", map[attribute.Set]uint64{*attribute.EmptySet(): 4})
	bytes, err := r.telemetry.GetMetric("otelcol_receiver_splunk_log_profile_bytes")
	require.NoError(t, err)
	forms := map[string]bool{}
	for _, point := range bytes.Data.(metricdata.Sum[int64]).DataPoints {
		form, _ := point.Attributes.Value("form")
		forms[form.AsString()] = point.Value > 0
	}
	assert.Equal(t, map[string]bool{"body": true, "inflated": true}, forms)

	// The receiver helper's, this receiver's and the inner OTLP receiver's.
	assert.EqualValues(t, profiles.SampleCount(), r.standard(t, "otelcol_receiver_accepted_profile_samples", "splunk_log_profile"))
	assert.EqualValues(t, 29, r.standard(t, "otelcol_receiver_accepted_log_records", "otlp/splunk_log_profile"))
	assert.EqualValues(t, 5, r.standard(t, "otelcol_receiver_refused_log_records", "otlp/splunk_log_profile"))
}

// standard returns the value of a metric of the receiver helper, for the receiver whose id has this prefix.
func (r *running) standard(t *testing.T, name, receiver string) int64 {
	t.Helper()
	metric, err := r.telemetry.GetMetric(name)
	require.NoError(t, err)
	data := metric.Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, data, 1)
	id, _ := data[0].Attributes.Value("receiver")
	assert.Contains(t, id.AsString(), receiver+"/")
	return data[0].Value
}

func TestOtherRecords(t *testing.T) {
	for _, test := range []struct {
		outcome string
		next    pipelines
		values  map[string]any
		status  int
	}{
		{"handed_on", pipelines{profiles: consumertest.NewNop(), logs: consumertest.NewNop()}, nil, 200},
		{"dropped", pipelines{profiles: consumertest.NewNop()}, nil, 200},
		{"rejected", pipelines{profiles: consumertest.NewNop()}, map[string]any{"other_logs": "reject"}, 400},
	} {
		r := run(t, test.next, test.values)
		status, _ := r.postLogs(t, ordinaryLogs("a", "b", "c"))
		assert.Equal(t, test.status, status)
		metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_other_records", points("outcome", map[string]int64{test.outcome: 3}))
	}
}

// TestEmptyRecords counts records without samples.
func TestEmptyRecords(t *testing.T) {
	sink := new(consumertest.ProfilesSink)
	r := run(t, pipelines{profiles: sink}, map[string]any{"keep_empty_stacks": false})
	body, err := os.ReadFile(profiletest.Testdata(t, "splunk", "splunk-otel-java", "text-v1.22-cpu-noframe.pb"))
	require.NoError(t, err)
	status, _ := r.post(t, "/v1/logs", protobuf, body)
	assert.Equal(t, 200, status)
	assert.Empty(t, sink.AllProfiles())
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_empty_records", point(1))
}
