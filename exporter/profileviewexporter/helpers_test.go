// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

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
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// serving is a started exporter without a queue.
type serving struct {
	xexporter.Profiles
	url       string
	telemetry *componenttest.Telemetry
	// ended is set if the test has checked the error of a shutdown.
	ended bool
}

func newServing(t *testing.T, change func(*Config)) *serving {
	t.Helper()
	return newHosted(t, componenttest.NewNopHost(), change)
}

func newHosted(t *testing.T, host component.Host, change func(*Config)) *serving {
	t.Helper()
	s := &serving{telemetry: componenttest.NewTelemetry()}
	cfg := createDefaultConfig().(*Config)
	cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	cfg.RetryConfig.Enabled = false
	cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	cfg.HTTP.ReadTimeout, cfg.HTTP.ReadHeaderTimeout, cfg.HTTP.WriteTimeout = deliverytest.Patience, deliverytest.Patience, deliverytest.Patience
	if change != nil {
		change(cfg)
	}
	require.NoError(t, confmap.Validate(cfg))
	s.url = "http://" + cfg.HTTP.NetAddr.Endpoint + cfg.PathPrefix
	var err error
	set := exportertest.NewNopSettings(metadata.Type)
	set.ID, set.TelemetrySettings = component.NewID(metadata.Type), s.telemetry.NewTelemetrySettings()
	s.Profiles, err = NewFactory().CreateProfiles(t.Context(), set, cfg)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), host))
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Shutdown(ctx); !s.ended {
			assert.NoError(t, err)
		}
		assert.NoError(t, s.telemetry.Shutdown(ctx))
	})
	return s
}

// get returns an answer and its body.
func (s *serving) get(t *testing.T, path string, header ...string) (*http.Response, []byte) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody))(t)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	body := must.Get(io.ReadAll(response.Body))(t)
	return response, body
}

func (s *serving) post(t *testing.T, payload []byte, attributes map[string]any) {
	t.Helper()
	require.NoError(t, s.ConsumeProfiles(t.Context(), deliverytest.Decode(t, payload, attributes)))
}

// written returns the bytes of a profile.
func written(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, p.Write(&out))
	return out.Bytes()
}

// made returns a profile of a time with one sample for each value.
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

const metricPrefix = "otelcol_exporter_profile_view_"

// counted returns the sum of a counter over the points with an attribute.
func counted(t *testing.T, telemetry *componenttest.Telemetry, name, key, value string) int64 {
	t.Helper()
	return deliverytest.Counted(t, telemetry, metricPrefix+name, key, value)
}

// gauge returns the value of a gauge without further attributes.
func gauge(t *testing.T, telemetry *componenttest.Telemetry, name string) int64 {
	t.Helper()
	m := must.Get(telemetry.GetMetric(metricPrefix + name))(t)
	data, isGauge := m.Data.(metricdata.Gauge[int64])
	require.True(t, isGauge)
	require.Len(t, data.DataPoints, 1)
	return data.DataPoints[0].Value
}

func totals(t *testing.T, data []byte) []int64 {
	t.Helper()
	p := deliverytest.Parsed(t, data)
	sums := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	return sums
}

var day = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// unlimited is a budget without a practical limit.
func unlimited() *memory.Budget { return memory.New(1<<40, 0) }
