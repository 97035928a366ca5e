// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// evaluation is the expression of an alert after 15 minutes of samples, one in 30 seconds. _x25 is 25 times no sample.
type evaluation struct {
	alert  string
	series []string
	fires  bool
}

const (
	queue   = `otelcol_exporter_queue_capacity{job="j", instance="i", exporter="e", data_type="profiles"} 100x40`
	running = `otelcol_process_uptime{job="j", instance="i"} 0+30x40`
)

// evaluations by what they show.
var evaluations = map[string]evaluation{
	"the first loss": {"ProfilesLost", []string{
		queue, `otelcol_exporter_send_failed_profile_samples{job="j", instance="i", exporter="e", error_permanent="true"} _x25 7x15`,
	}, true},
	"another loss": {"ProfilesLost", []string{queue, `otelcol_exporter_send_failed_profile_samples{job="j", instance="i", exporter="e"} 0+1x40`}, true},
	"an old loss":  {"ProfilesLost", []string{queue, `otelcol_exporter_send_failed_profile_samples{job="j", instance="i", exporter="e"} 7x40`}, false},
	"the sender got the error": {"ProfilesLost", []string{
		`otelcol_exporter_send_failed_profile_samples{job="j", instance="i", exporter="e"} 0+1x40`, strings.Replace(queue, `"e"`, `"another"`, 1),
	}, false},
	"the first loss of a batch":       {"ProfilesLostInBatches", []string{`otelcol_processor_profile_deduplicator_lost_profiles{job="j", instance="i", reason="refused"} _x25 7x15`}, true},
	"the first refusal of pprof":      {"ProfilesRejectedByTheDestination", []string{`otelcol_exporter_pprof_profiles_refused{job="j", instance="i", exporter="e", reason="invalid"} _x25 7x15`}, true},
	"the first refusal of the pages":  {"ProfilesRejectedByTheDestination", []string{`otelcol_exporter_profile_view_profiles_refused{job="j", instance="i", exporter="e", reason="invalid"} _x25 7x15`}, true},
	"the first failure of a disk":     {"ProfilesCannotBeWritten", []string{`otelcol_exporter_pprof_write_failures{job="j", instance="i", exporter="e", reason="full"} _x28 1x12`}, true},
	"an old failure of a disk":        {"ProfilesCannotBeWritten", []string{`otelcol_exporter_pprof_write_failures{job="j", instance="i", exporter="e", reason="full"} _x20 1x20`}, false},
	"the first id that was forgotten": {"RepeatedUploadsMayPass", []string{`otelcol_processor_profile_deduplicator_evicted_ids{job="j", instance="i"} _x25 7x15`}, true},
	"a tenant at its limit": {"GatewayOverloaded", []string{
		`otelcol_receiver_pprof_refusals{job="j", instance="i", reason="tenant_busy"} 0+10x40`, `otelcol_receiver_pprof_payloads{job="j", instance="i"} 0+20x40`,
	}, true},
	"no memory": {"GatewayOverloaded", []string{
		`otelcol_receiver_pprof_refusals{job="j", instance="i", reason="memory_budget"} 0+10x40`, `otelcol_receiver_pprof_payloads{job="j", instance="i"} 0+20x40`,
	}, true},
	"no memory for OTLP":                  {"OTLPRequestsRefused", []string{`otelcol_extension_memory_budget_refusals{job="j", instance="i", reason="exhausted"} 0+10x40`}, true},
	"broken uploads":                      {"UploadsRefused", []string{`otelcol_receiver_pprof_refusals{job="j", api="pprof", reason="malformed"} 0+10x40`}, true},
	"traces of Datadog":                   {"UploadsRefused", []string{`otelcol_receiver_pprof_refusals{job="j", api="unknown", reason="unknown_path"} 0+10x40`}, false},
	"a gateway that runs":                 {"GatewayAway", []string{running, `up{job="otelpprof"} 1x40`}, false},
	"a gateway without answers":           {"GatewayAway", []string{running, `up{job="otelpprof"} 0x40`}, true},
	"a queue that is three quarters full": {"QueueFillsUp", []string{queue, `otelcol_exporter_queue_size{job="j", instance="i", exporter="e", data_type="profiles"} 75x40`}, true},
	"a queue that is half full":           {"QueueFillsUp", []string{queue, `otelcol_exporter_queue_size{job="j", instance="i", exporter="e", data_type="profiles"} 50x40`}, false},
	"broken records of agents":            {"AgentRecordsRefused", []string{`otelcol_receiver_splunk_log_profile_refusals{job="j", instance="i", reason="malformed"} 0+10x40`}, true},
	"one broken record of an agent":       {"AgentRecordsRefused", []string{`otelcol_receiver_splunk_log_profile_refusals{job="j", instance="i", reason="malformed"} 0+0x20 1x20`}, false},
	"one of four targets is away": {"TargetsNotScraped", []string{
		`otelcol_receiver_pprof_fetches{job="j", instance="i", outcome="unreachable"} 0+1x40`, `otelcol_receiver_pprof_fetches{job="j", instance="i", outcome="ok"} 0+3x40`,
	}, true},
	"one of ten targets is away": {"TargetsNotScraped", []string{
		`otelcol_receiver_pprof_fetches{job="j", instance="i", outcome="unreachable"} 0+1x40`, `otelcol_receiver_pprof_fetches{job="j", instance="i", outcome="ok"} 0+9x40`,
	}, false},
	"targets of which the first allocations are kept": {"TargetsNotScraped", []string{`otelcol_receiver_pprof_fetches{job="j", instance="i", outcome="baseline"} 0+1x40`}, false},
	"full batches":              {"BatchesHoldTooMuch", []string{`otelcol_processor_profile_deduplicator_refused_messages{job="j", instance="i", reason="held_bytes"} 0+1x40`}, true},
	"batches that were full":    {"BatchesHoldTooMuch", []string{`otelcol_processor_profile_deduplicator_refused_messages{job="j", instance="i", reason="held_bytes"} 7x40`}, false},
	"a role without pods":       {"PodsNotReadable", []string{`otelcol_extension_kubernetes_access_missing_permissions{job="j", instance="i"} 1x40`}, true},
	"a role that is enough":     {"PodsNotReadable", []string{`otelcol_extension_kubernetes_access_missing_permissions{job="j", instance="i"} 0x40`}, false},
	"a cluster without answers": {"ClusterAPIAway", []string{`otelcol_extension_kubernetes_access_checks{job="j", instance="i", outcome="unreachable"} 0+1x40`}, true},
	"a cluster with one mistake": {"ClusterAPIAway", []string{
		`otelcol_extension_kubernetes_access_checks{job="j", instance="i", outcome="unreachable"} 0+1x40`,
		`otelcol_extension_kubernetes_access_checks{job="j", instance="i", outcome="allowed"} 0+1x40`,
	}, false},
	"senders without a pod": {"PodsNotFound", []string{
		`otelcol_k8s_pod_association{job="j", instance="i", status="error", pod_identifier="k8s.pod.ip", otelcol_signal="profiles"} 0+2x40`,
		`otelcol_k8s_pod_association{job="j", instance="i", status="success", pod_identifier="k8s.pod.ip", otelcol_signal="profiles"} 0+8x40`,
	}, true},
	"resources without an identifier": {"PodsNotFound", []string{
		`otelcol_k8s_pod_association{job="j", instance="i", status="error", pod_identifier="", otelcol_signal="profiles"} 0+2x40`,
		`otelcol_k8s_pod_association{job="j", instance="i", status="success", pod_identifier="k8s.pod.ip", otelcol_signal="profiles"} 0+8x40`,
	}, false},
	"three restarts": {"GatewayRestarts", []string{`otelcol_process_uptime{job="j", instance="i"} 0+30x4 0+30x4 0+30x4 0+30x30`}, true},
	"two restarts":   {"GatewayRestarts", []string{`otelcol_process_uptime{job="j", instance="i"} 0+30x4 0+30x4 0+30x30`}, false},
	"a gateway that was removed": {"GatewayAway", []string{
		`otelcol_process_uptime{job="j", instance="i"} 0+30x10`, `up{job="otelpprof"} 1x10`,
	}, true},
}

// TestAlertsFire: the alerts fire for what they are for, and not for anything else.
func TestAlertsFire(t *testing.T) {
	groups, errs := rulefmt.Parse([]byte(read(t, "deploy/monitoring/alerts.yaml")), false)
	require.Empty(t, errs)
	expressions := map[string]string{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			expressions[rule.Alert] = rule.Expr
		}
	}
	firing := map[string]bool{}
	for _, tt := range evaluations {
		firing[tt.alert] = firing[tt.alert] || tt.fires
	}
	for alert := range expressions {
		assert.True(t, firing[alert], "nothing shows that %s fires", alert)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	defer func() { assert.NoError(t, engine.Close()) }()
	for name, tt := range evaluations {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, expressions, tt.alert)
			query, err := engine.NewInstantQuery(t.Context(), stored(t, tt.series), nil, expressions[tt.alert], time.Unix(0, 0).Add(15*time.Minute))
			require.NoError(t, err)
			defer query.Close()
			found, err := query.Exec(t.Context()).Vector()
			require.NoError(t, err)
			assert.Equal(t, tt.fires, len(found) > 0, "%v", found)
		})
	}
}

// sample is a value of a series.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                    { return s.at }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// seriesSet is the result of a query of the storage.
type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// stored returns a storage with series in the notation of Prometheus' tests, with a sample in 30 seconds from 0 on.
func stored(t *testing.T, texts []string) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for _, text := range texts {
		name, values, err := parser.ParseSeriesDesc(text)
		require.NoError(t, err, text)
		var samples []chunks.Sample
		for i, value := range values {
			if !value.Omitted {
				samples = append(samples, sample{int64(i) * 30_000, value.Value})
			}
		}
		all = append(all, storage.NewListSeries(name, samples))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			found := &seriesSet{at: -1}
			for _, series := range all {
				matches := true
				for _, matcher := range matchers {
					matches = matches && matcher.Matches(series.Labels().Get(matcher.Name))
				}
				if matches {
					found.series = append(found.series, series)
				}
			}
			return found
		},
	}}
}

// eachExporter calls f with each exporter otlp_grpc in the configurations and manifests, and the name of its file.
func eachExporter(t *testing.T, f func(file string, exporter map[string]any)) {
	t.Helper()
	files := 0
	shipped := os.DirFS(root)
	for _, directory := range []string{"config", "deploy", "packaging"} {
		require.NoError(t, fs.WalkDir(shipped, directory, func(name string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			if path.Ext(name) != ".yaml" || strings.Contains(name, "/templates/") {
				return nil
			}
			decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, name))))
			for {
				var document any
				err := decoder.Decode(&document)
				if errors.Is(err, io.EOF) {
					return nil
				}
				require.NoError(t, err, name)
				for _, exporter := range exportersIn(document) {
					files++
					f(name, exporter)
				}
			}
		}))
	}
	require.Greater(t, files, 6)
}

// exportersIn returns each map otlp_grpc below a key exporters.
func exportersIn(value any) (found []map[string]any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			found = append(found, exportersIn(element)...)
		}
	case map[string]any:
		if exporters, ok := value["exporters"].(map[string]any); ok {
			if exporter, ok := exporters["otlp_grpc"].(map[string]any); ok {
				found = append(found, exporter)
			}
		}
		for _, below := range value {
			found = append(found, exportersIn(below)...)
		}
	}
	return found
}

// A receiver over gRPC without zstd rejects each message permanently. All have gzip, the default. Agents send to a Collector.
func TestCompressionThatEachBackendHas(t *testing.T) {
	agents := []string{"config/agent.yaml", "deploy/helm/otelcol-pprof/files/agent.yaml"}
	eachExporter(t, func(file string, exporter map[string]any) {
		if compression, set := exporter["compression"]; set {
			assert.Contains(t, agents, file, "%s has compression: %v", file, compression)
		}
	})
}

// The Collector's exporter waits as long as a backend asks, and logs each answer as a whole.
func TestAnswersAreLimited(t *testing.T) {
	eachExporter(t, func(file string, exporter map[string]any) {
		if _, whole := exporter["endpoint"]; !whole {
			return // it is merged over another configuration
		}
		assert.Equal(t, []any{map[string]any{"id": "memory_budget"}}, exporter["middlewares"], file)
	})
}
