// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replica is a Collector that scrapes its share of the fleet.
type replica struct {
	*process
	name string
}

// startReplica runs config/scrape-kubernetes.yaml, with a shorter interval. Its address and its name depend on the number.
func (f *fleet) startReplica(t *testing.T, number, shards int) replica {
	t.Helper()
	r := replica{name: fmt.Sprintf("%d of %d", number, shards)}
	address := fmt.Sprintf("127.83.17.%d", 10*shards+number)
	r.process = f.startInPod(t, address, fleetNamespace, []string{
		"SCRAPE_SHARD=" + strconv.Itoa(number), "SCRAPE_SHARDS=" + strconv.Itoa(shards), "GOMEMLIMIT=409MiB", // as the chart's agent
	}, "--config="+absolute(t, root+"/config/scrape-kubernetes.yaml"), "--config=yaml:"+fmt.Sprintf(`
extensions: {health_check: {endpoint: "%[1]s:13133"}}
receivers: {pprof: {scrape: {collection_interval: %[2]s, profiles: [%[3]s], headers: {%[4]s: %[5]q}}}}
exporters: {pprof: {file: {directory: /var/lib/otelcol-pprof}}}
service: {telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: "%[1]s", port: 8888, without_scope_info: true, without_type_suffix: true, without_units: true}}}}]}}}
`, address, interval, fetched, askedBy, r.name))
	return r
}

// usage is what a process has used.
type usage struct {
	// anonymous is its memory without mapped files, heap what Go's heap holds.
	anonymous, heap int64
}

// usage measures a while, since garbage and answers that are worked on come and go: the heap is the least that was seen, the
// memory the most.
func (r replica) usage(t *testing.T, length time.Duration) (u usage) {
	t.Helper()
	u.heap = math.MaxInt64
	for begin := time.Now(); time.Since(begin) < length; time.Sleep(10 * pollEvery) {
		u.anonymous = max(u.anonymous, r.anonymous(t))
		u.heap = min(u.heap, int64(r.metric(t, "otelcol_process_runtime_heap_alloc_bytes")))
	}
	return u
}

func (p *process) anonymous(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "RssAnon:")
	require.True(t, found)
	kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}

// metric is the sum of a metric of the Collector over all series that have these texts in their labels.
func (p *process) metric(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	_, text := p.get(t, ":8888/metrics")
lines:
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		series, value := line[:end], line[end+1:]
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue lines
			}
		}
		number, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		sum += number
	}
	return sum
}

// counters is how many counters the replica keeps, to subtract them from the next ones.
func (r replica) counters(t *testing.T) int64 {
	t.Helper()
	return int64(r.metric(t, "otelcol_receiver_pprof_remembered_counters", `api="scrape"`))
}

// targets is how many targets the replica has passed on.
func (r replica) targets(t *testing.T) int {
	t.Helper()
	return int(r.metric(t, "otelcol_extension_target_discovery_targets", `state="passed_on"`))
}
