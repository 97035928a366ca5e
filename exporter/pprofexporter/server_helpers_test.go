// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadatatest"
	"github.com/otelpprof/otelpprof/internal/budget"
)

// serving is an exporter with the destination server.
type serving struct {
	xexporter.Profiles
	url       string
	telemetry *componenttest.Telemetry
}

func newServing(t *testing.T, change func(*ServerConfig)) *serving {
	t.Helper()
	s := &serving{telemetry: componenttest.NewTelemetry()}
	cfg := createDefaultConfig().(*Config)
	cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	cfg.RetryConfig.Enabled = false
	server := cfg.Server.GetOrInsertDefault()
	server.HTTP.NetAddr.Endpoint = freeEndpoint(t)
	server.HTTP.ReadTimeout, server.HTTP.ReadHeaderTimeout, server.HTTP.WriteTimeout = patience, patience, patience
	server.ConcurrencyWait = patience
	if change != nil {
		change(server)
	}
	require.NoError(t, cfg.Validate())
	require.NoError(t, server.Validate())
	s.url = "http://" + server.HTTP.NetAddr.Endpoint + server.PathPrefix
	var err error
	s.Profiles, err = NewFactory().CreateProfiles(t.Context(), metadatatest.NewSettings(s.telemetry), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), componenttest.NewNopHost()))
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		assert.NoError(t, s.Shutdown(ctx))
		assert.NoError(t, s.telemetry.Shutdown(ctx))
	})
	return s
}

// get returns an answer, whose body is read.
func (s *serving) get(t *testing.T, path string, header ...string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, body
}

func (s *serving) post(t *testing.T, payload []byte, attributes map[string]any) {
	t.Helper()
	require.NoError(t, s.ConsumeProfiles(t.Context(), decode(t, payload, attributes)))
}

// written is a profile as bytes.
func written(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, p.Write(&out))
	return out.Bytes()
}

// made is a profile with one sample of each value, at a time.
func made(tb testing.TB, at time.Time, sampleTypes []string, values ...int64) []byte {
	tb.Helper()
	f := &profile.Function{ID: 1, Name: "main.work", SystemName: "main.work", Filename: "main.go", StartLine: 3}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 5}}}
	p := &profile.Profile{
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
		TimeNanos: at.UnixNano(), DurationNanos: int64(time.Second),
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: values}},
	}
	for _, name := range sampleTypes {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "count"})
	}
	return written(tb, p)
}

// gauge returns the value of a gauge without further attributes.
func gauge(t *testing.T, telemetry *componenttest.Telemetry, name string) int64 {
	t.Helper()
	m, err := telemetry.GetMetric("otelcol_exporter_pprof_" + name)
	require.NoError(t, err)
	data, isGauge := m.Data.(metricdata.Gauge[int64])
	require.True(t, isGauge)
	require.Len(t, data.DataPoints, 1)
	return data.DataPoints[0].Value
}

func totals(t *testing.T, data []byte) []int64 {
	t.Helper()
	p := parsed(t, data)
	sums := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	return sums
}

var day = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// unlimited is a budget that all fits in.
func unlimited() *budget.Budget { return budget.New(1<<40, 0) }
