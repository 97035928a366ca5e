// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package newcomer

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// files are what common profilers write. Each is sent without its format: then it is taken, and written under the names of its kinds, or
// the error names what it is and what to send instead.
var files = []struct {
	name  string
	make  func(t *testing.T, d *desk) []byte
	kinds []string
	// perhaps are kinds that depend on what the JVM does by itself.
	perhaps []string
	told    string
}{
	{name: "pprof", make: stored("pprof/cpu.pb.gz"), kinds: []string{"cpu"}},
	{name: "V8, .cpuprofile", make: fromNode("burn.cpuprofile"), kinds: []string{"cpu"}},
	{name: "perf script", make: stored("formats/perf_boot.txt"), kinds: []string{"cpu", "page-faults"}},
	{name: "collapsed stacks", make: downloaded("collapsed"), kinds: []string{"cpu"}},
	{name: "speedscope", make: downloaded("speedscope"), kinds: []string{"*"}}, // named by its title
	{name: "JFR", make: fromJava, kinds: []string{"cpu", "heap"}, perhaps: []string{"wall", "mutex", "block"}},
	{name: "V8, .heapprofile", make: fromNode("burn.heapprofile"), told: "V8 heap profile"},
	{name: "V8, .heapsnapshot", make: fromNode("burn.heapsnapshot"), told: "V8 heap snapshot"},
	{name: "Chrome, trace events", make: fromNode("burn.trace.json"), told: "record a .cpuprofile and send it with format=cpuprofile"},
	{name: "SVG", make: downloaded("svg"), told: "HTML or SVG"},
	{name: "HTML", make: page, told: "HTML or SVG"},
	{name: "Go, debug=2", make: goroutines, told: "without the parameter debug"},
	{name: "Go, execution trace", make: executionTrace, told: "execution trace"},
}

// desk is a running gateway, and a directory for files.
type desk struct{ intake, pages, directory string }

// TestFiles uploads each file to one gateway.
func TestFiles(t *testing.T) {
	a := must.Get(gateway.FreeAddresses(t.Context(), 4))(t)
	d := &desk{intake: "http://" + a[0] + "/v1/pprof", pages: "http://" + a[1] + "/", directory: t.TempDir()}
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{
			absolute(t, "config/demo.yaml"),
			"yaml:exporters::pprof::file::directory: " + filepath.Join(d.directory, "profiles"),
			"yaml:receivers::pprof::server::endpoint: " + a[0],
			"yaml:exporters::profile_view::endpoint: " + a[1],
			"yaml:extensions::health_check::endpoint: " + a[2],
			"yaml:extensions::zpages::endpoint: " + a[3],
			"yaml:service::telemetry::metrics::level: none",
		},
		HealthURL: "http://" + a[2],
	})
	for i, file := range files {
		t.Run(file.name, func(t *testing.T) {
			service := fmt.Sprint("file-", i)
			answer := gatewaytest.Send(t, http.MethodPost, d.intake+"?service.name="+service, file.make(t, d))
			if file.told != "" {
				assert.Equal(t, http.StatusUnsupportedMediaType, answer.Status)
				assert.Contains(t, answer.Text, file.told)
				return
			}
			require.Equal(t, http.StatusNoContent, answer.Status, answer.Text)
			for _, kind := range file.kinds {
				found := must.Get(filepath.Glob(filepath.Join(d.directory, "profiles", service, kind, "*.pb.gz")))(t)
				assert.NotEmpty(t, found, kind)
			}
			all := must.Get(os.ReadDir(filepath.Join(d.directory, "profiles", service)))(t)
			for _, directory := range all {
				assert.True(t, file.kinds[0] == "*" || slices.Contains(append(file.perhaps, file.kinds...), directory.Name()), directory.Name())
			}
		})
	}
}

// stored is a file of testdata.
func stored(path string) func(*testing.T, *desk) []byte {
	return func(t *testing.T, _ *desk) []byte {
		t.Helper()
		return []byte(read(t, filepath.Join(root, "testdata", path)))
	}
}

// downloaded is what the page offers of the first file.
func downloaded(format string) func(*testing.T, *desk) []byte {
	query := url.Values{"type": {"process_cpu:cpu:nanoseconds:cpu:nanoseconds"}, "query": {`{service_name="file-0"}`}, "from": {"all"}}
	return func(t *testing.T, d *desk) []byte {
		t.Helper()
		return served(t, d.pages+"download/"+format+"?"+query.Encode())
	}
}

// fromNode is a file that Node.js writes by itself, or by a function of its module v8.
func fromNode(name string) func(*testing.T, *desk) []byte {
	return func(t *testing.T, d *desk) []byte {
		t.Helper()
		node, err := exec.LookPath("node")
		if err != nil {
			requirement.Missing(t, "Node.js is missing: %v", err)
		}
		if _, err := os.Stat(filepath.Join(d.directory, name)); err != nil {
			run(t, d.directory, node, "--cpu-prof", "--cpu-prof-name=burn.cpuprofile", "--heap-prof", "--heap-prof-name=burn.heapprofile",
				"--trace-event-categories=v8", "--trace-event-file-pattern=burn.trace.json", "-e", `
				const end = Date.now() + 300
				const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2)
				while (Date.now() < end) fib(20)
				require('v8').writeHeapSnapshot('burn.heapsnapshot')`)
		}
		return []byte(read(t, filepath.Join(d.directory, name)))
	}
}

// fromJava is a recording with the settings for profiling that the JDK has.
func fromJava(t *testing.T, d *desk) []byte {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		requirement.Missing(t, "Java is missing: %v", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(d.directory, "Burn.java"), []byte(`
		public class Burn {
			public static void main(String[] arguments) throws Exception {
				long end = System.currentTimeMillis() + 2000;
				for (double x = 1; System.currentTimeMillis() < end; ) x += new double[1000].length * Math.sqrt(x);
				Thread.sleep(500);
			}
		}`), 0o600))
	run(t, d.directory, java, "-XX:StartFlightRecording=filename=burn.jfr,settings=profile", "Burn.java")
	return []byte(read(t, filepath.Join(d.directory, "burn.jfr")))
}

func run(t *testing.T, directory string, command ...string) {
	t.Helper()
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir = directory
	output, err := program.CombinedOutput()
	require.NoError(t, err, string(output))
}

func goroutines(t *testing.T, _ *desk) []byte {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&text, 2))
	return text.Bytes()
}

func executionTrace(t *testing.T, _ *desk) []byte {
	t.Helper()
	var content bytes.Buffer
	require.NoError(t, trace.Start(&content))
	trace.Stop()
	return content.Bytes()
}

// page is the page of the gateway, as a browser saves it.
func page(t *testing.T, d *desk) []byte {
	t.Helper()
	return served(t, d.pages)
}

func served(t *testing.T, url string) []byte {
	t.Helper()
	answer := gatewaytest.Send(t, http.MethodGet, url, nil)
	require.Equal(t, http.StatusOK, answer.Status, answer.Text)
	return []byte(answer.Text)
}

const root = "../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, path string) string {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	return string(content)
}

// absolute returns the path of a file of the repository.
func absolute(t *testing.T, path string) string {
	t.Helper()
	found := must.Get(filepath.Abs(filepath.Join(root, path)))(t)
	return found
}
