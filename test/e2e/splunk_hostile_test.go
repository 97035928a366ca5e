// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestSplunkHostileRecords sends records that are too large in every way between good ones of one request: each is counted,
// and the good ones arrive.
func TestSplunkHostileRecords(t *testing.T) {
	s := startSplunk(t)
	logs, last := readCapture(t, "v4.7.2-mixed-cpu-1-http.pb"), readCapture(t, "v4.7.2-mixed-cpu-2-http.pb")
	records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	want := events{}
	want.addLogs(t, logs)
	want.addLogs(t, last)

	var bomb bytes.Buffer
	writer := gzip.NewWriter(&bomb)
	_, err := writer.Write(make([]byte, 65<<20))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(bomb.Bytes()),
		"\n\n" + strings.Repeat("x", 1_000_000),
		"\n\n" + strings.Repeat("\tat a(b:1)\n", 1_000_000),
		strings.Repeat("A", 4<<20), // base64 of what is no pprof
		"\"not UTF-8 \xff\" #1\n\n\tat broken\xff(\xff.java:1)\n",
	} {
		record := records.AppendEmpty()
		record.SetTimestamp(1_795_241_154_000_000_000)
		record.Attributes().PutStr("profiling.data.type", "cpu")
		record.Attributes().PutInt("source.event.period", 1000)
		record.Body().SetStr(text)
	}
	records.At(4).Attributes().PutStr("profiling.data.format", "pprof-gzip-base64")
	last.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().MoveAndAppendTo(records)
	s.postLogs(t, logs)

	// The two good records, and the text whose bytes are mended.
	s.waitForFiles(t, 3)
	got := s.eventsOfService(t, "splunk-js-fixture")
	for e, weight := range want {
		assert.Equal(t, weight, got[e])
		delete(got, e)
	}
	require.Len(t, got, 1)
	for e := range got {
		assert.Equal(t, "broken\uFFFD \uFFFD.java:1\n", e.frames)
		assert.Equal(t, "not UTF-8 \uFFFD  1", e.thread)
	}
	const refusals = "otelcol_receiver_splunk_log_profile_refusals"
	s.waitForMetric(t, 3, refusals, `reason="too_large"`)
	s.waitForMetric(t, 1, refusals, `reason="pprof"`)
	s.waitForMetric(t, 4, refusals)
	assert.Contains(t, s.Log(), "Refused profiling records. The other fields describe the first one.")
}

func readCapture(t *testing.T, name string) plog.Logs {
	t.Helper()
	body, err := os.ReadFile(profiletest.Testdata(t, "splunk", "splunk-otel-js", name))
	require.NoError(t, err)
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
	require.NoError(t, err)
	return logs
}
