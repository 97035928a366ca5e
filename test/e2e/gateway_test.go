// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestMain lets more tests run at a time than there are processors: those that may wait for other processes most of the time.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// baseConfig is a gateway from HTTP to files. The exporter's queue is on by default, as a user has it.
const baseConfig = `yaml:
receivers:
  pprof:
    server:
      endpoint: %s
exporters:
  pprof:
    file:
      directory: %s
extensions:
  health_check:
    endpoint: %s
  pprof:
    endpoint: %s
service:
  extensions: [health_check, pprof]
  pipelines:
    profiles:
      receivers: [pprof]
      exporters: [pprof]
`

// patience is how long anything may take that the gateway does by itself.
const patience = time.Minute

// tester is a running gateway with what a test wants to know of it.
type tester struct {
	*gateway.Gateway
	// intake, metrics and profiling are the addresses of the receiver, the Collector's metrics and its own profiles.
	intake, metrics, profiling string
	// directory is where the files go.
	directory string
}

// start runs the binary with baseConfig and these values of --config on top, and stops it when the test ends.
func start(t *testing.T, overrides ...string) *tester {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 4))(t)
	g := &tester{
		intake:    addresses[0],
		metrics:   addresses[1],
		profiling: addresses[2],
		directory: filepath.Join(t.TempDir(), "profiles"),
	}
	config := fmt.Sprintf(baseConfig, g.intake, g.directory, addresses[3], g.profiling)
	g.Gateway = gatewaytest.Run(t, gateway.Options{
		Configs:   append([]string{config, gateway.MetricsAt(g.metrics)}, overrides...),
		HealthURL: "http://" + addresses[3],
	})
	return g
}

// post uploads a body to the receiver. suffix is what follows /v1/pprof, headers are pairs.
func (g *tester) post(t *testing.T, suffix string, body []byte, headers ...string) gatewaytest.Answer {
	t.Helper()
	return gatewaytest.Send(t, http.MethodPost, "http://"+g.intake+"/v1/pprof"+suffix, body, headers...)
}

// accept uploads a body that must be taken.
func (g *tester) accept(t *testing.T, suffix string, body []byte, headers ...string) {
	t.Helper()
	got := g.post(t, suffix, body, headers...)
	require.Equal(t, http.StatusNoContent, got.Status, got.Text)
}

// files returns every file below the exporter's directory, finished or not, by its path from there.
func (g *tester) files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(g.directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(g.directory, path)
		found = append(found, name)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return found
}

// waitForFiles returns the files once there are n and each is finished.
func (g *tester) waitForFiles(t *testing.T, n int) []string {
	t.Helper()
	var found []string
	done := func() bool {
		found = g.files(t)
		return len(found) == n && len(unfinished(found)) == 0
	}
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "want %d files, there are %q", n, found)
	}
	return found
}

// unfinished are those that do not have a profile's name.
func unfinished(files []string) []string {
	var rest []string
	for _, name := range files {
		if !strings.HasSuffix(name, ".pb.gz") {
			rest = append(rest, name)
		}
	}
	return rest
}
