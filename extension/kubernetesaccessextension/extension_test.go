// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// apiServer answers reviews. denied are verb and resource, as in "list pods".
type apiServer struct {
	*httptest.Server

	mu     sync.Mutex
	denied []string
	status int
	asked  []string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{status: http.StatusCreated}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) set(status int, denied ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.denied = status, denied
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked review
	if r.URL.Path != reviewPath || r.Header.Get("Authorization") != "Bearer secret" || json.NewDecoder(r.Body).Decode(&asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	attributes := asked.Spec.ResourceAttributes
	what := attributes.Verb + " " + attributes.Resource
	s.asked = append(s.asked, what)
	asked.Status.Allowed = !slices.Contains(s.denied, what)
	if s.status == http.StatusFound {
		w.Header().Set("Location", "https://192.0.2.1/")
	}
	w.WriteHeader(s.status)
	_ = json.NewEncoder(w).Encode(asked)
}

// config is one for this server.
func (s *apiServer) config(t *testing.T) *Config {
	t.Helper()
	directory := t.TempDir()
	cfg := createDefaultConfig().(*Config)
	cfg.Interval, cfg.Endpoint = time.Millisecond, s.URL
	cfg.TokenFile, cfg.CAFile = filepath.Join(directory, "token"), filepath.Join(directory, "ca.crt")
	require.NoError(t, os.WriteFile(cfg.TokenFile, []byte("secret\n"), 0o600))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(cfg.CAFile, certificate, 0o600))
	return cfg
}

// statusHost receives the status of the component.
type statusHost struct {
	component.Host
	events chan *componentstatus.Event
}

func (h *statusHost) Report(event *componentstatus.Event) { h.events <- event }

// next is the next status.
func (h *statusHost) next(t *testing.T) *componentstatus.Event {
	t.Helper()
	select {
	case event := <-h.events:
		return event
	case <-time.After(time.Minute):
		require.Fail(t, "no status")
		return nil
	}
}

// started runs an extension.
func started(t *testing.T, cfg *Config) (*statusHost, *componenttest.Telemetry, *observer.ObservedLogs) {
	t.Helper()
	require.NoError(t, cfg.Validate())
	telemetry := componenttest.NewTelemetry()
	set := telemetry.NewTelemetrySettings()
	core, logs := observer.New(zap.InfoLevel)
	set.Logger = zap.New(core)
	a := must.Get(newAccess(cfg, set))(t)
	host := &statusHost{componenttest.NewNopHost(), make(chan *componentstatus.Event, 100)}
	require.NoError(t, a.Start(t.Context(), host))
	t.Cleanup(func() {
		assert.NoError(t, a.Shutdown(context.Background()))
		assert.NoError(t, telemetry.Shutdown(context.Background()))
	})
	return host, telemetry, logs
}

// TestStatus follows a service account: nothing allowed, one verb less, all, and an API server that is away.
func TestStatus(t *testing.T) {
	server := newAPIServer(t)
	server.set(http.StatusCreated, "list pods", "watch pods")
	host, telemetry, logs := started(t, server.config(t))

	event := host.next(t)
	assert.Equal(t, componentstatus.StatusRecoverableError, event.Status())
	require.EqualError(t, event.Err(), "the service account of this pod may not list and watch pods in all namespaces: "+
		`add the rule {apiGroups: [""], resources: [pods], verbs: [list, watch]} to its ClusterRole`)

	server.set(http.StatusCreated, "watch pods")
	require.ErrorContains(t, host.next(t).Err(), "verbs: [watch]}")
	assert.Eventually(t, func() bool {
		got, err := telemetry.GetMetric("otelcol_extension_kubernetes_access_missing_permissions")
		return err == nil && got.Data.(metricdata.Gauge[int64]).DataPoints[0].Value == 1
	}, time.Minute, time.Millisecond)

	server.set(http.StatusCreated)
	assert.Equal(t, componentstatus.StatusOK, host.next(t).Status())
	server.set(http.StatusServiceUnavailable)
	require.ErrorContains(t, host.next(t).Err(), "answers 503")
	server.set(http.StatusFound)
	require.ErrorContains(t, host.next(t).Err(), "it redirects")
	server.Close()
	require.ErrorContains(t, host.next(t).Err(), "cannot ask the API server")

	assert.Equal(t, 5, logs.FilterLevelExact(zap.WarnLevel).Len(), "one line for each change")
	got := must.Get(telemetry.GetMetric("otelcol_extension_kubernetes_access_checks"))(t)
	assert.Len(t, got.Data.(metricdata.Sum[int64]).DataPoints, 3)
	metrictest.AssertPoints(t, telemetry, "otelcol_extension_kubernetes_access_missing_permissions", []metricdata.DataPoint[int64]{{Value: 0}})
}

// TestPermissions asks for what the configuration names, and says where it is missing.
func TestPermissions(t *testing.T) {
	server := newAPIServer(t)
	server.set(http.StatusCreated, "get replicasets", "get nodes")
	cfg := server.config(t)
	cfg.Permissions = []Permission{
		{APIGroup: "apps", Resource: "replicasets", Namespace: "shop", Verbs: []string{"get", "list"}},
		{Resource: "nodes", Verbs: []string{"get"}},
	}
	host, _, _ := started(t, cfg)
	require.EqualError(t, host.next(t).Err(), "the service account of this pod may not get replicasets.apps in the namespace shop, "+
		`nor get nodes in all namespaces: add the rule {apiGroups: ["apps"], resources: [replicasets], verbs: [get]} to its Role in shop, `+
		`and {apiGroups: [""], resources: [nodes], verbs: [get]} to its ClusterRole`)
	server.mu.Lock()
	defer server.mu.Unlock()
	assert.Equal(t, []string{"get replicasets", "list replicasets", "get nodes"}, server.asked[:3])
}

// TestUnreachable: what is missing in the pod itself is said, too.
func TestUnreachable(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"cannot read token_file":     func(cfg *Config) { cfg.TokenFile += "none" },
		"cannot read ca_file":        func(cfg *Config) { cfg.CAFile += "none" },
		"has no certificate":         func(cfg *Config) { cfg.CAFile = cfg.TokenFile },
		"this is no pod: KUBERNETES": func(cfg *Config) { cfg.Endpoint = "" },
		"answers 400":                func(cfg *Config) { cfg.Endpoint += "/elsewhere" },
	} {
		cfg := newAPIServer(t).config(t)
		change(cfg)
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		host, _, _ := started(t, cfg)
		require.ErrorContains(t, host.next(t).Err(), says)
	}
}

// TestAddress: the cluster says where its API server is.
func TestAddress(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "2001:db8::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	endpoint := must.Get(createDefaultConfig().(*Config).endpoint())(t)
	assert.Equal(t, "https://[2001:db8::1]:443", endpoint)
}

func TestDefaultConfig(t *testing.T) {
	require.NoError(t, createDefaultConfig().(*Config).Validate())
}

// TestPermissionsReplace: a configured list takes the place of the default, however short it is.
func TestPermissionsReplace(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"permissions": []any{map[string]any{"resource": "nodes", "verbs": []any{"get"}}},
	}).Unmarshal(cfg))
	assert.Equal(t, []Permission{{Resource: "nodes", Verbs: []string{"get"}}}, cfg.Permissions)
}

func TestValidate(t *testing.T) {
	configtest.CheckRefused(t, createDefaultConfig)
	_, err := configtest.Load(createDefaultConfig(), confmap.NewFromStringMap(map[string]any{
		"permissions": []any{map[string]any{"resource": "pods", "verbs": slices.Repeat([]any{"get"}, maxReviews+1)}},
	}))
	assert.ErrorContains(t, err, "permissions has 101 verbs in all")
}

func TestLifecycle(t *testing.T) {
	lifecycletest.Check(t, func() (extension.Extension, error) {
		return NewFactory().Create(t.Context(), extensiontest.NewNopSettings(typ), createDefaultConfig())
	})
}
