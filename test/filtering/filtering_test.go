// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filtering

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	g := start(t, "", example(t, "Dropping profiles"))
	for _, query := range []string{
		"service.name=checkout&resource.deployment.environment.name=test",
		"service.name=canary-checkout",
		"service.name=checkout&resource.deployment.environment.name=prod",
	} {
		require.Equal(t, http.StatusNoContent, g.upload(t, "heap.pb.gz", query))
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, g.files(c), 1) }, within, pollEvery)
	assert.Equal(t, []string{"checkout/heap"}, g.files(t), "nothing of the test and of the canary")
	assert.Equal(t, []*profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}, g.file(t).SampleType)
	assert.Regexp(t, `(?m)^otelcol_processor_filter_profiles_filtered\{.*\} [1-9]`, gatewaytest.Send(t, http.MethodGet, "http://"+g.metrics+"/metrics", nil).Text)
}

// file reads the only file that the gateway has written.
func (g *tester) file(t *testing.T) *profile.Profile {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(g.directory, "profiles", "*", "*", "*.pb.gz")))(t)
	require.Len(t, paths, 1)
	content := must.Get(os.ReadFile(paths[0]))(t)
	p := must.Get(profile.ParseData(content))(t)
	return p
}

func TestHostAttributes(t *testing.T) {
	t.Parallel()
	g := start(t, "", example(t, "Attributes of the host"), "yaml:exporters: {pprof: {resource_comments: true}}")
	require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=checkout&resource.deployment.environment.name=test"))
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, g.files(c), 1) }, within, pollEvery)
	comments := g.file(t).Comments
	assert.Contains(t, comments, "resource:host.name=node-1")
	assert.Contains(t, comments, "resource:deployment.environment.name=test", "the sender said so")
}

// metricsSink is an OTLP server that keeps the metrics that it receives.
type metricsSink struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (s *metricsSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := pmetricotlp.NewExportRequest()
	if err != nil || r.URL.Path != "/v1/metrics" || request.UnmarshalProto(body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.Metrics().ResourceMetrics().All() {
		service, _ := resource.Resource().Attributes().AsRaw()["service.name"].(string)
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				if metric.Sum().AggregationTemporality() == pmetric.AggregationTemporalityDelta {
					s.counts[service+" "+metric.Name()] += metric.Sum().DataPoints().At(0).IntValue()
				}
			}
		}
	}
}

func (s *metricsSink) read() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

func TestCount(t *testing.T) {
	t.Parallel()
	sink := &metricsSink{counts: map[string]int64{}}
	server := httptest.NewServer(sink)
	t.Cleanup(server.Close)
	g := start(t, "", example(t, "Counting profiles"),
		"yaml:exporters: {otlp_http/metrics: {endpoint: '"+server.URL+"', compression: none}}")
	for _, upload := range [][2]string{{"cpu.pb.gz", "checkout"}, {"cpu.pb.gz", "checkout"}, {"heap.pb.gz", "checkout"}, {"cpu.pb.gz", "billing"}} {
		require.Equal(t, http.StatusNoContent, g.upload(t, upload[0], "service.name="+upload[1]))
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, map[string]int64{"checkout profiles.cpu": 2, "checkout profiles.heap": 1, "billing profiles.cpu": 1}, sink.read())
	}, within, pollEvery)
}

func TestTenant(t *testing.T) {
	t.Parallel()
	want := map[string]string{"checkout": "shop", "search": "web", "batch": "anonymous"}
	for name, test := range map[string]struct{ extensions, queue string }{
		"in memory": {", headers_setter", "yaml:{}"},
		"on disk": {
			", headers_setter, file_storage",
			"yaml:{extensions: {file_storage: {directory: .}}, exporters: {otlp_grpc: {sending_queue: {storage: file_storage}}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := &tenantSink{of: map[string]string{}}
			sink := must.Get(otlpsink.Start(t.Context(), "127.0.0.1:0", tenants.take))(t)
			t.Cleanup(sink.Stop)
			g := start(t, test.extensions, example(t, "Passing the tenant on"), test.queue, "yaml:exporters: {otlp_grpc: {endpoint: '"+sink.Address()+"'}}")
			require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=checkout", "X-Scope-OrgID", "shop"))
			require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=search", "X-Scope-OrgID", "web"))
			require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=batch"))
			require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, tenants.read()) }, within, pollEvery)
		})
	}
}

// tenantSink records the tenant of each service.
type tenantSink struct {
	mu sync.Mutex
	of map[string]string
}

func (s *tenantSink) take(ctx context.Context, pd pprofile.Profiles) error {
	headers, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range pd.ResourceProfiles().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		s.of[service.Str()] = strings.Join(headers.Get("X-Scope-OrgID"), ",")
	}
	return nil
}

func (s *tenantSink) read() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.of)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// within is the time limit of each step.
	within    = time.Minute
	pollEvery = 20 * time.Millisecond

	page = "../../docs/filtering.md"
)

func readPage(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	return string(text)
}

// example returns the configuration below a heading of the page.
func example(t *testing.T, heading string) string {
	t.Helper()
	_, below, found := strings.Cut(readPage(t), "\n## "+heading+"\n")
	require.True(t, found, heading)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(below)
	require.NotNil(t, block, heading)
	return "yaml:\n" + block[1]
}

// tester is a running gateway with an example as its configuration.
type tester struct {
	// address is the address of the receiver pprof, metrics that of the Collector's metrics. directory is the working directory.
	address, metrics, directory string
}

// settings override each example: free addresses for the receiver and the health check.
const settings = `yaml:
receivers: {pprof: {server: {endpoint: %q}}}
extensions: {health_check: {endpoint: %q}}
`

// start runs a gateway until the test ends. Each configuration overrides those before it. extensions are added to health_check in
// service::extensions.
func start(t *testing.T, extensions string, configs ...string) *tester {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 3))(t)
	g := &tester{address: addresses[0], metrics: addresses[2], directory: t.TempDir()}
	configs = append(configs, fmt.Sprintf(settings, addresses[0], addresses[1]), gateway.MetricsAt(g.metrics), "yaml:service::extensions: [health_check"+extensions+"]")
	gatewaytest.Run(t, gateway.Options{
		Configs: configs, Environment: []string{"HOST_NAME=node-1"}, HealthURL: "http://" + addresses[1], Directory: g.directory,
	})
	return g
}

// upload sends a profile of testdata and returns the status of the answer. headers are pairs of names and values.
func (g *tester) upload(t *testing.T, name, query string, headers ...string) int {
	t.Helper()
	body := must.Get(os.ReadFile(profiletest.Testdata(t, "pprof", name)))(t)
	return gatewaytest.Send(t, http.MethodPost, "http://"+g.address+"/v1/pprof?"+query, body, headers...).Status
}

// files returns the service and type of each written file.
func (g *tester) files(t assert.TestingT) []string {
	paths, err := filepath.Glob(filepath.Join(g.directory, "profiles", "*", "*", "*.pb.gz"))
	assert.NoError(t, err)
	for i, path := range paths {
		directory := filepath.Dir(path)
		paths[i] = filepath.Base(filepath.Dir(directory)) + "/" + filepath.Base(directory)
	}
	slices.Sort(paths)
	return paths
}
