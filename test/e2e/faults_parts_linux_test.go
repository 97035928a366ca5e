// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

// TestFaultsReport: the figures are written between the marks, and nothing else is changed.
func TestFaultsReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+beginMark+"previous figures\n"+endMark+"after\n"), 0o600))
	r := &faultsReport{
		duration: time.Minute, took: time.Second, balance: profiletest.Balance{Sent: 1, Arrived: 1},
		outcomes: []load.Outcome{{Number: 0, Attempts: 3, Busy: 2, Seconds: 0.25}, {Number: 9, Attempts: 1, Refused: "400"}},
	}
	replacePart(t, path, r.text(&underFaults{}))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Regexp(t, "(?s)^before\n.*\\| \\*\\*lost\\*\\*; changed; unknown \\| \\*\\*0\\*\\*; 0; 0 \\|.*after\n$", string(content))
	assert.Contains(t, string(content), "| refused with a retryable error (503, Unavailable) | 2 of 4 attempts |")
	assert.NotContains(t, string(content), "previous figures")
}

// TestReadRefusals reads only the counters of both receivers.
func TestReadRefusals(t *testing.T) {
	counts := readRefusals(t, `# TYPE otelcol_receiver_pprof_refusals counter
otelcol_receiver_pprof_refusals{api="pprof",reason="malformed"} 3
otelcol_receiver_pprof_refusals{api="datadog",otel_scope="x",reason="malformed"} 4
otelcol_receiver_pprof_refused_payloads{api="datadog",reason="malformed"} 9
otelcol_receiver_splunk_log_profile_refusals{reason="base64"} 5
`)
	assert.Equal(t, map[load.Reason]int{{API: "pprof", Name: "malformed"}: 3, {API: "datadog", Name: "malformed"}: 4, {API: "splunk", Name: "base64"}: 5}, counts)
}

// TestCompareRefusals: attempts that were answered before the report must be counted, those in progress may be, and no
// others.
func TestCompareRefusals(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	attempt := func(begin, end int, answered bool) load.Attempt {
		return load.Attempt{Begin: at(begin), End: at(end), Answered: answered}
	}
	// Processes from 0 to 10 and from 10 to 20. The first reports at 8 and is killed before 10.
	outcomes := []load.Outcome{
		{Number: 9, Refusals: []load.Attempt{attempt(1, 2, true)}},
		{Number: 9, Refusals: []load.Attempt{attempt(7, 9, false), attempt(11, 12, true)}},
		{Number: 9, Refusals: []load.Attempt{attempt(18, 19, true)}},
		{Number: 0},
	}
	reason, must := load.MustRefuse(9)
	require.True(t, must)
	other := load.Reason{API: "pprof", Name: "internal"}
	busy := load.Reason{API: "pprof", Name: "busy"}
	for name, c := range map[string]struct {
		first, second map[load.Reason]int
		incorrect     int
	}{
		"an attempt in progress is not counted": {map[load.Reason]int{reason: 1}, map[load.Reason]int{reason: 2}, 0},
		"an attempt in progress is counted":     {map[load.Reason]int{reason: 2}, map[load.Reason]int{reason: 2}, 0},
		"retryable":                             {map[load.Reason]int{reason: 1, busy: 7}, map[load.Reason]int{reason: 2}, 0},
		"too few":                               {map[load.Reason]int{}, map[load.Reason]int{reason: 2}, 1},
		"too many":                              {map[load.Reason]int{reason: 1}, map[load.Reason]int{reason: 3}, 1},
		"another reason":                        {map[load.Reason]int{reason: 1, other: 1}, map[load.Reason]int{reason: 1, other: 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			sums, incorrect := compareRefusals([]life{
				{begin: at(0), asked: at(8), answered: at(8), counts: c.first},
				{begin: at(10), asked: at(20), answered: at(20), counts: c.second},
			}, outcomes)
			assert.Len(t, incorrect, c.incorrect, "%q", incorrect)
			assert.Equal(t, count{counted: c.first[reason] + c.second[reason], least: 3, most: 4}, *sums[reason])
		})
	}
}
