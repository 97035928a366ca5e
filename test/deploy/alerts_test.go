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

// evaluation is the expression of an alert after samples.
type evaluation struct {
	Name, Alert string
	Series      []string
	Fires       bool
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
	evaluations, firing := cases[evaluation](t, "alerts.yaml"), map[string]bool{}
	for _, tt := range evaluations {
		firing[tt.Alert] = firing[tt.Alert] || tt.Fires
	}
	for alert := range expressions {
		assert.True(t, firing[alert], "nothing shows that %s fires", alert)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	defer func() { assert.NoError(t, engine.Close()) }()
	for _, tt := range evaluations {
		t.Run(tt.Name, func(t *testing.T) {
			require.Contains(t, expressions, tt.Alert)
			query, err := engine.NewInstantQuery(t.Context(), stored(t, tt.Series), nil, expressions[tt.Alert], time.Unix(0, 0).Add(15*time.Minute))
			require.NoError(t, err)
			defer query.Close()
			found, err := query.Exec(t.Context()).Vector()
			require.NoError(t, err)
			assert.Equal(t, tt.Fires, len(found) > 0, "%v", found)
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
