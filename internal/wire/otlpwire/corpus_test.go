// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestCorpus: the count of real messages.
func TestCorpus(t *testing.T) {
	for _, m := range profiletest.CorpusMessages(t) {
		t.Run(m.Name, func(t *testing.T) {
			body, err := pprofileotlp.NewExportRequestFromProfiles(m.Profiles).MarshalProto()
			require.NoError(t, err)
			checkCount(t, memorytest.Most, Profiles, body)
		})
	}
}

func logs(records int) []byte {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	all := resource.ScopeLogs().AppendEmpty().LogRecords()
	for range records {
		record := all.AppendEmpty()
		record.Body().SetStr("GET /cart took longer than it should have, and here is some more about it")
		record.Attributes().PutStr("http.request.method", "GET")
		record.Attributes().PutInt("http.response.status_code", 200)
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		panic(err)
	}
	return body
}

func TestLogs(t *testing.T) { checkCount(t, memorytest.Most, Logs, logs(10_000)) }

// BenchmarkCount compares the time of the count with the time of unmarshalling.
func BenchmarkCount(b *testing.B) {
	bodies := map[string]struct {
		signal Signal
		body   []byte
	}{"logs": {Logs, logs(10_000)}}
	if message := largest(b); message != nil {
		bodies["profiles"] = struct {
			signal Signal
			body   []byte
		}{Profiles, message}
	}
	for name, test := range bodies {
		for op, do := range map[string]func() error{
			"count": func() error { _, err := Count(test.signal, test.body); return err },
			"pdata": func() error { return newRequest(test.signal).UnmarshalProto(test.body) },
		} {
			b.Run("body="+name+"/op="+op, func(b *testing.B) {
				b.SetBytes(int64(len(test.body)))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// largest returns the largest message of the corpus.
func largest(tb testing.TB) (largest []byte) {
	tb.Helper()
	for _, m := range profiletest.CorpusMessages(tb) {
		body, err := pprofileotlp.NewExportRequestFromProfiles(m.Profiles).MarshalProto()
		require.NoError(tb, err)
		if len(body) > len(largest) {
			largest = body
		}
	}
	return largest
}
