// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const page = root + "/docs/telemetry.md"

// listed returns the metrics in the tables of the page and in the documentation.md of each component, to which the page leads.
func listed(t *testing.T) (names []string) {
	t.Helper()
	text := read(t, page)
	for _, match := range regexp.MustCompile("(?m)^\\| `(otelcol_[a-z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	require.NotEmpty(t, names)
	files := must.Get(filepath.Glob(root + "/*/*/documentation.md"))(t)
	require.NotEmpty(t, files)
	for _, file := range files {
		link := must.Get(filepath.Rel(root, file))(t)
		assert.Contains(t, text, "](../"+filepath.ToSlash(link)+")")
		metrics := regexp.MustCompile(`(?m)^### (otelcol_[a-z_]+)$`).FindAllStringSubmatch(read(t, file), -1)
		require.NotEmpty(t, metrics, file)
		for _, match := range metrics {
			names = append(names, match[1])
		}
	}
	return names
}

// running is a gateway in which every counter of the Collector that the page names has something to count.
const running = `yaml:
receivers: {pprof: {server: {endpoint: '%[1]s'}}}
processors: {profile_deduplicator: {drop_repeated: {}, batch: {timeout: 10ms, wait_for_result: false}}}
exporters:
  profile_view: {endpoint: '%[2]s'}
  otlp_grpc: # nobody is there
    endpoint: '%[3]s'
    tls: {insecure: true}
    retry_on_failure: {enabled: false}
  otlp_http: # a queue that nothing fits into
    endpoint: 'http://%[3]s'
    sending_queue: {sizer: bytes, queue_size: 1}
extensions: {health_check: {endpoint: '%[4]s'}}
service:
  extensions: [health_check]
  pipelines: {profiles: {receivers: [pprof], processors: [profile_deduplicator], exporters: [profile_view, otlp_grpc, otlp_http]}}
`

// TestTelemetryOfARunningGateway: it has the metrics of the Collector that the page names, and none of its own that the page
// does not.
func TestTelemetryOfARunningGateway(t *testing.T) {
	a := must.Get(gateway.FreeAddresses(t.Context(), 5))(t)
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{fmt.Sprintf(running, a[0], a[1], a[2], a[3]), gateway.MetricsAt(a[4])}, HealthURL: "http://" + a[3],
	})
	exchange(t, http.MethodPost, "http://"+a[0]+"/v1/pprof?service.name=checkout", []byte(read(t, root+"/testdata/pprof/cpu.pb.gz")))

	text := read(t, page)
	_, rest, _ := strings.Cut(text, "<!-- Each of these")
	ofCollector, _, _ := strings.Cut(rest, "<!-- end of these -->")
	var named []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(otelcol_[a-z_]+)`").FindAllStringSubmatch(ofCollector, -1) {
		named = append(named, match[1])
	}
	require.NotEmpty(t, named)
	all := listed(t)
	series := regexp.MustCompile(`(?m)^# TYPE (otelcol_[a-z_]+) `)
	var missing []string
	require.Eventually(t, func() bool {
		metrics := exchange(t, http.MethodGet, "http://"+a[4]+"/metrics", nil)
		missing = slices.DeleteFunc(slices.Clone(named), func(name string) bool {
			return strings.Contains(metrics, "# TYPE "+name+" ")
		})
		for _, match := range series.FindAllStringSubmatch(metrics, -1) {
			assert.Contains(t, all, match[1], "a metric that the page does not have")
		}
		return len(missing) == 0
	}, time.Minute, 100*time.Millisecond, "a running gateway does not have all that the page names")
	assert.Empty(t, missing)
}

func exchange(t *testing.T, method, url string, body []byte) string {
	t.Helper()
	answer := gatewaytest.Send(t, method, url, body)
	require.Equal(t, 2, answer.Status/100, answer.Text)
	return answer.Text
}

// TestDocumentsNameMetrics: a metric that a document names is listed.
func TestDocumentsNameMetrics(t *testing.T) {
	names := listed(t)
	files := must.Get(filepath.Glob(root + "/*/*/README.md"))(t)
	pages := must.Get(filepath.Glob(root + "/docs/*.md"))(t)
	checked := 0
	for _, file := range append(append(files, pages...), root+"/README.md") {
		for _, name := range regexp.MustCompile(`\botelcol_[a-z_]*[a-z]\b`).FindAllString(read(t, file), -1) {
			if !slices.Contains(foreign, name) {
				checked++
				assert.Contains(t, names, name, file)
			}
		}
	}
	assert.NotZero(t, checked)
}

// foreign are the names that tests and documents use and the page has not: of other components, and of a label.
var foreign = []string{"otelcol_processor_filter_profiles_filtered", "otelcol_signal"}

// TestTestsNameMetrics: a metric that a test of the whole gateway names is listed. What it counts of another name is always 0.
func TestTestsNameMetrics(t *testing.T) {
	names := listed(t)
	checked := 0
	err := filepath.WalkDir(root+"/test", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		for _, name := range regexp.MustCompile(`\botelcol_[a-z_]*[a-z]\b`).FindAllString(read(t, path), -1) {
			if !slices.Contains(foreign, name) {
				checked++
				assert.Contains(t, names, name, path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.NotZero(t, checked)
}

// TestTelemetryLogLines: the table of the page has each warning and error of the components, as the code writes it, and no other line.
func TestTelemetryLogLines(t *testing.T) {
	_, section, found := strings.Cut(read(t, page), "\n## Logs\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var lines []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		lines = append(lines, match[1])
	}
	require.NotEmpty(t, lines)
	call := regexp.MustCompile(`[lL]og(?:ger)?\.(?:Warn|Error)\("([^"]+)"`)
	var written []string
	for _, folder := range []string{"connector", "exporter", "extension", "internal", "processor", "receiver"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, match := range call.FindAllStringSubmatch(read(t, path), -1) {
				written = append(written, match[1])
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.ElementsMatch(t, written, lines)
}
