// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v2"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// running is an extension that was started, and what it has passed on.
type running struct {
	*targetDiscovery
	telemetry *componenttest.Telemetry
	logs      *observer.ObservedLogs
	host      *host

	mu   sync.Mutex
	last []*discovery.Target
}

// host keeps the status, and has the extension.
type host struct {
	extensions map[component.ID]component.Component
	mu         sync.Mutex
	status     *componentstatus.Event
}

func (h *host) GetExtensions() map[component.ID]component.Component { return h.extensions }

func (h *host) Report(event *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = event
}

func (h *host) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status == nil {
		return nil
	}
	return h.status.Err()
}

// configOf reads a configuration as the Collector does.
func configOf(tb testing.TB, text string) *Config {
	tb.Helper()
	var values map[string]any
	require.NoError(tb, yaml.Unmarshal([]byte(text), &values))
	cfg := createDefaultConfig().(*Config)
	require.NoError(tb, confmap.NewFromStringMap(values).Unmarshal(cfg))
	require.NoError(tb, cfg.Validate())
	return cfg
}

// run starts an extension. It ends with the test.
func run(t *testing.T, text string) *running {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := &running{telemetry: componenttest.NewTelemetry(), logs: logs}
	set := r.telemetry.NewTelemetrySettings()
	set.Logger = zap.New(core)
	var err error
	r.targetDiscovery, err = newTargetDiscovery(configOf(t, text), set)
	require.NoError(t, err)
	r.host = &host{extensions: map[component.ID]component.Component{component.MustNewID("target_discovery"): r}}
	require.NoError(t, r.Start(t.Context(), r.host))
	cancel := r.Subscribe(func(targets []*discovery.Target) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = targets
	})
	t.Cleanup(func() {
		cancel()
		ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		require.NoError(t, r.Shutdown(ctx))
		require.NoError(t, r.telemetry.Shutdown(ctx))
	})
	return r
}

func nopSettings() component.TelemetrySettings { return componenttest.NewNopTelemetrySettings() }

// addresses are those of the targets.
func (r *running) addresses() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	addresses := []string{}
	for _, target := range r.last {
		addresses = append(addresses, target.Address)
	}
	return addresses
}

// attributes are those of a target. They do not change any more.
func (r *running) attributes(i int) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[i].Attributes
}

// service is the name of the service of a target.
func (r *running) service(i int) string { return r.attributes(i)["service.name"] }

// wait waits until these are the targets.
func (r *running) wait(t *testing.T, addresses ...string) {
	t.Helper()
	eventually(t, func() bool {
		got := r.addresses()
		return strings.Join(got, " ") == strings.Join(addresses, " ")
	}, "%v, want %v", r.addresses, addresses)
}

// waitErr waits until the status is an error with this text.
func (r *running) waitErr(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool {
		err := r.host.err()
		return err != nil && strings.Contains(err.Error(), text)
	}, "%s", text)
}

func eventually(t *testing.T, condition func() bool, message ...any) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, message...)
}

// count returns a metric for one value of its attribute.
func (r *running) count(name, value string) int64 {
	metric, err := r.telemetry.GetMetric("otelcol_extension_target_discovery_" + name)
	if err != nil {
		return 0
	}
	var points []metricdata.DataPoint[int64]
	switch data := metric.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	}
	for _, point := range points {
		for _, key := range []attribute.Key{"mechanism", "state"} {
			if got, found := point.Attributes.Value(key); found && got.AsString() == value {
				return point.Value
			}
		}
	}
	return 0
}

// applied are the targets that rules make of a group, and why others are left out.
func applied(tb testing.TB, text string, common model.LabelSet, own ...model.LabelSet) (targets []*discovery.Target, made group) {
	tb.Helper()
	cfg := configOf(tb, text)
	rules := must.Get(cfg.rules())(tb)
	made = (&targetDiscovery{cfg: cfg, rules: rules}).apply(context.Background(), &targetgroup.Group{Source: "x", Labels: common, Targets: own}, math.MaxInt, nil)
	for _, target := range made.targets {
		targets = append(targets, target)
	}
	return targets, made
}

// shipped returns the configuration of the extension in config/scrape-kubernetes.yaml, with values for its variables.
func shipped(tb testing.TB, variables ...string) string {
	tb.Helper()
	content := must.Get(os.ReadFile("../../config/scrape-kubernetes.yaml"))(tb)
	text := strings.NewReplacer(append(variables, "${env:SCRAPE_SHARDS:-1}", "1", "${env:SCRAPE_SHARD:-0}", "0", "$$", "$")...).Replace(string(content))
	var whole struct {
		Extensions struct {
			Discovery map[string]any `yaml:"target_discovery"`
		} `yaml:"extensions"`
	}
	require.NoError(tb, yaml.Unmarshal([]byte(text), &whole))
	section := must.Get(yaml.Marshal(whole.Extensions.Discovery))(tb)
	return string(section)
}
