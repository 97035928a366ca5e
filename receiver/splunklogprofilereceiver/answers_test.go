// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

var (
	errBusy     = errors.New("queue is full")
	errUnusable = consumererror.NewPermanent(errors.New("unusable"))
)

// partlyBrokenLogs are three profiling records, one of them invalid.
func partlyBrokenLogs(t *testing.T) plog.Logs {
	t.Helper()
	logs := pythonLogs(t)
	logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().SetStr("!")
	return logs
}

func brokenWithOther(t *testing.T) plog.Logs {
	t.Helper()
	return mixed(brokenLogs(t), ordinaryLogs("a"))
}

func pythonWithOther(t *testing.T) plog.Logs {
	t.Helper()
	return mixed(ordinaryLogs("a"), pythonLogs(t))
}

// TestAnswers checks the response to the sender over both transports, and what is passed on.
func TestAnswers(t *testing.T) {
	const refused = "all 3 profiling records are refused, the first one (base64): cannot decode the base64 of the body"
	for _, test := range []struct {
		name string
		logs func(*testing.T) plog.Logs
		// next are the errors of the next consumers. If logs is nil, the receiver is in no logs pipeline.
		profiles error
		logsToo  bool
		logsErr  error
		values   map[string]any

		http    int
		code    codes.Code
		message string
		// samples and bodies are what is passed on.
		samples int
		bodies  []string
	}{
		{name: "profiles", logs: pythonLogs, http: 200, samples: 15},
		{name: "every record invalid", logs: brokenLogs, http: 400, code: codes.InvalidArgument, message: refused},
		{
			name: "one record invalid", http: 200, samples: 10,
			logs: partlyBrokenLogs,
		},
		{
			name: "every record invalid, other logs without a logs pipeline", http: 400, code: codes.InvalidArgument, message: refused,
			logs: brokenWithOther,
		},
		{
			name: "every record invalid, other logs accepted", http: 200, logsToo: true, bodies: []string{"a"},
			logs: brokenWithOther,
		},
		{name: "every record invalid, with a logs pipeline", logs: brokenLogs, logsToo: true, http: 400, code: codes.InvalidArgument, message: refused},

		{name: "other logs without a logs pipeline", logs: func(*testing.T) plog.Logs { return ordinaryLogs("a") }, http: 200},
		{
			name: "other logs without a logs pipeline, rejected", values: map[string]any{"other_logs": "reject"},
			logs: func(*testing.T) plog.Logs { return ordinaryLogs("a") },
			http: 400, code: codes.InvalidArgument, message: "none of the 1 log records is a profiling record",
		},
		{
			name: "other logs beside profiles, rejected", values: map[string]any{"other_logs": "reject"},
			logs: pythonWithOther,
			http: 200, samples: 15,
		},
		{
			name: "other logs with a logs pipeline", logsToo: true, values: map[string]any{"other_logs": "reject"},
			logs: func(*testing.T) plog.Logs { return ordinaryLogs("a", "b") },
			http: 200, bodies: []string{"a", "b"},
		},

		{name: "profiles refused, retryable", logs: pythonLogs, profiles: errBusy, http: 503, code: codes.Unavailable, message: "queue is full"},
		{
			name: "profiles rejected permanently by one exporter, retryable by another", logs: pythonLogs,
			profiles: errors.Join(errUnusable, errBusy), http: 503, code: codes.Unavailable, message: "queue is full",
		},
		{name: "profiles rejected permanently", logs: pythonLogs, profiles: errUnusable, http: 500, code: codes.Internal, message: "unusable"},
		{
			name: "profiles refused, retryable: the logs are not passed on", profiles: errBusy, logsToo: true,
			logs: pythonWithOther,
			http: 503, code: codes.Unavailable, message: "queue is full",
		},
		{
			name: "profiles rejected permanently: the logs are passed on", profiles: errUnusable, logsToo: true, bodies: []string{"a"},
			logs: pythonWithOther,
			http: 500, code: codes.Internal, message: "unusable",
		},
		{
			name: "logs refused, retryable", logsToo: true, logsErr: errBusy, samples: 15,
			logs: pythonWithOther,
			http: 503, code: codes.Unavailable, message: "queue is full",
		},
		{
			name: "logs rejected permanently", logsToo: true, logsErr: errUnusable, samples: 15,
			logs: pythonWithOther,
			http: 500, code: codes.Internal, message: "unusable",
		},
		{
			name: "profiles rejected permanently, logs retryable", profiles: errUnusable, logsToo: true, logsErr: errBusy,
			logs: pythonWithOther,
			http: 503, code: codes.Unavailable, message: "queue is full",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			profiles, logs := new(consumertest.ProfilesSink), new(consumertest.LogsSink)
			var nextProfiles xconsumer.Profiles = profiles
			if test.profiles != nil {
				nextProfiles = consumertest.NewErr(test.profiles)
			}
			var nextLogs consumer.Logs
			if test.logsToo {
				nextLogs = logs
			}
			if test.logsErr != nil {
				nextLogs = consumertest.NewErr(test.logsErr)
			}
			r := run(t, pipelines{profiles: nextProfiles, logs: nextLogs}, test.values)
			check := func() {
				assert.Equal(t, test.samples, profiles.SampleCount())
				assert.Equal(t, test.bodies, bodiesIn(logs))
				profiles.Reset()
				logs.Reset()
			}

			code, text := r.postLogs(t, test.logs(t))
			assert.Equal(t, test.http, code, text)
			assert.Contains(t, text, test.message)
			check()

			_, err := plogotlp.NewGRPCClient(r.dial(t)).Export(t.Context(), plogotlp.NewExportRequestFromLogs(test.logs(t)))
			answer := status.Convert(err)
			assert.Equal(t, test.code, answer.Code())
			assert.Contains(t, answer.Message(), test.message)
			check()
		})
	}
}

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
		body := must.Get(os.ReadFile(profiletest.Testdata(t, "splunk", name)))(t)
		status, text := r.post(t, body)
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
	bytes := must.Get(r.telemetry.GetMetric("otelcol_receiver_splunk_log_profile_bytes"))(t)
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
	metric := must.Get(r.telemetry.GetMetric(name))(t)
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
	body := must.Get(os.ReadFile(profiletest.Testdata(t, "splunk", "splunk-otel-java", "text-v1.22-cpu-noframe.pb")))(t)
	status, _ := r.post(t, body)
	assert.Equal(t, 200, status)
	assert.Empty(t, sink.AllProfiles())
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_splunk_log_profile_empty_records", point(1))
}
