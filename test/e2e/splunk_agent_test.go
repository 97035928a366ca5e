// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/testkit/npm"
)

// agentDirectory has the program and names its agent. Its underscore keeps Go's tools out of what npm installs there.
const agentDirectory = "_agent"

// TestSplunkAgent runs a program under an agent as its users install it, over HTTP and over gRPC. What the agent says of the
// program arrives in files, and nothing else does.
func TestSplunkAgent(t *testing.T) {
	t.Parallel()
	npm.Install(t, agentDirectory)
	for _, transport := range []string{"http", "grpc"} {
		t.Run(transport, func(t *testing.T) {
			s := startSplunk(t)
			target := s.http
			if transport == "grpc" {
				target = s.grpc
			}
			r := record(t, target, transport == "grpc")
			spans := runAgent(t, transport, r.url)
			require.Len(t, spans, 15)

			sent := events{}
			records := 0
			for _, logs := range r.logs(t) {
				records += sent.addLogs(t, logs)
			}
			require.GreaterOrEqual(t, records, 3, "two of cpu time and one of allocations at least")
			s.waitForFiles(t, records)
			got := s.eventsOfService(t, "from-"+transport)
			assert.Equal(t, sent, got)
			checkProgram(t, got, spans)
			checkCounts(t, s, r.logs(t), got)

			var ids []string
			for _, span := range spans {
				ids = append(ids, span.TraceID, span.SpanID)
			}
			s.waitForText(t, s.traces, ids...)
		})
	}
}

// spanIDs are what the program printed of a span.
type spanIDs struct{ TraceID, SpanID string }

// checkProgram looks for what the program did: it was in burnCpu, in its spans and outside of them, and allocated there.
func checkProgram(t *testing.T, got events, spans []spanIDs) {
	t.Helper()
	known := map[spanIDs]bool{}
	for _, span := range spans {
		known[span] = true
	}
	var linked, unlinked, allocated int64
	for e, weight := range got {
		if e.trace != "" {
			assert.True(t, known[spanIDs{e.trace, e.span}], "a link to a span that is not the program's: %s %s", e.trace, e.span)
		}
		switch burns := strings.Contains(e.frames, "burnCpu ") && strings.Contains(e.frames, "program.js:"); {
		case !burns:
		case e.kind == "alloc_space/bytes":
			allocated += weight
		case e.trace != "":
			linked += weight
		default:
			unlinked += weight
		}
	}
	assert.Positive(t, linked, "samples in spans")
	assert.Positive(t, unlinked, "samples outside of spans")
	assert.Positive(t, allocated, "allocations")
}

// checkCounts compares with profiling.data.total.frame.count, which is of frames where it is about cpu time, and of samples
// where it is about allocations.
func checkCounts(t *testing.T, s *splunkTester, sent []plog.Logs, got events) {
	t.Helper()
	const period = 20_000_000
	said, samples, frames := map[string]int64{}, int64(0), int64(0)
	for _, logs := range sent {
		for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			count, err := strconv.ParseInt(attribute(record, "profiling.data.total.frame.count"), 10, 64)
			require.NoError(t, err)
			kind := attribute(record, "profiling.data.type")
			said[kind] += count
			if kind == "cpu" {
				samples += int64(len(parseRecord(t, record).Sample))
			}
		}
	}
	for e, weight := range got {
		if e.kind == "cpu/nanoseconds" {
			frames += weight / period * int64(e.depth)
		}
	}
	require.Positive(t, said["cpu"])
	require.Positive(t, said["allocation"])
	assert.Equal(t, said["cpu"], frames)
	s.waitForMetric(t, float64(samples+said["allocation"]), "otelcol_receiver_splunk_log_profile_events")
	assert.Zero(t, s.metric(t, "otelcol_receiver_splunk_log_profile_refusals"))
}

// runAgent runs the program under the agent and returns the spans that it made.
func runAgent(t *testing.T, transport, endpoint string) []spanIDs {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", "program.js", transport, "from-"+transport, endpoint)
	command.Dir = agentDirectory
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, stderr.String())
	var spans []spanIDs
	require.NoError(t, json.Unmarshal(output, &spans), "%s%s", output, stderr.String())
	return spans
}
