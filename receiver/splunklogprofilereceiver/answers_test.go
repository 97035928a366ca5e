// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
