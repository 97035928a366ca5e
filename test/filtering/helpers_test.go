// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filtering

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// within is the time limit of each step.
	within    = 30 * time.Second
	pollEvery = 20 * time.Millisecond

	page = "../../docs/filtering.md"
)

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
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
	client                      *http.Client
}

// settings override each example: free addresses for the receiver, the health check and the metrics.
const settings = `yaml:
receivers: {pprof: {server: {endpoint: %q}}}
extensions: {health_check: {endpoint: %q}}
service:
  telemetry:
    metrics:
      readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s, without_scope_info: true, without_type_suffix: true, without_units: true}}}}]
`

// start runs a gateway until the test ends. Each configuration overrides those before it. extensions are added to health_check in
// service::extensions.
func start(t *testing.T, extensions string, configs ...string) *tester {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 3)
	require.NoError(t, err)
	_, metricsPort, err := net.SplitHostPort(addresses[2])
	require.NoError(t, err)
	g := &tester{
		address: addresses[0], metrics: addresses[2], directory: t.TempDir(),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	configs = append(configs, fmt.Sprintf(settings, addresses[0], addresses[1], metricsPort), "yaml:service::extensions: [health_check"+extensions+"]")
	gatewaytest.Run(t, gateway.Options{
		Configs: configs, Environment: []string{"HOST_NAME=node-1"}, HealthURL: "http://" + addresses[1], Directory: g.directory,
	})
	return g
}

// upload sends a profile of testdata and returns the status of the answer. headers are pairs of names and values.
func (g *tester) upload(t *testing.T, name, query string, headers ...string) int {
	t.Helper()
	body, err := os.ReadFile(profiletest.Testdata(t, "pprof", name))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.address+"/v1/pprof?"+query, bytes.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := g.client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
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
