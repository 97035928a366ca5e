// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/gateway"
	"github.com/otelpprof/otelpprof/internal/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/npm"
	"github.com/otelpprof/otelpprof/internal/profiletest"
	"github.com/otelpprof/otelpprof/internal/requirement"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// page is the directory of the script and of its packages.
	page = "_page"
	// patience is how long anything may take.
	patience = 10 * time.Minute
	// hostile is a service that must be shown and not run.
	hostile = `<script>alert("1")</script>`
)

const config = `yaml:
receivers:
  pprof:
    server:
      endpoint: %s
exporters:
  profile_view:
    endpoint: %s
    path_prefix: /profiling
extensions:
  health_check:
    endpoint: %s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof]
      exporters: [profile_view]
  telemetry:
    metrics:
      level: none
`

// chromium is the path of the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	requirement.Missing(t, "no Chromium is installed")
	return ""
}

// start runs the distribution and returns the addresses of its receiver and its pages.
func start(t *testing.T) (intake, pages string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 3)
	require.NoError(t, err)
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{fmt.Sprintf(config, addresses[0], addresses[1], addresses[2])}, HealthURL: "http://" + addresses[2],
	})
	return "http://" + addresses[0], "http://" + addresses[1] + "/profiling"
}

// call returns the body of an answer that must be a success.
func call(t *testing.T, method, target string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, "%s: %s", target, text)
	return text
}

// fill uploads profiles of several services and waits until all are held.
func fill(t *testing.T, intake, pages string) {
	t.Helper()
	series := 0
	for service, names := range map[string][]string{
		"checkout": {"cpu", "heap", "goroutine", "mutex"}, "cart": {"cpu", "heap"}, "search": {"cpu"}, hostile: {"heap"},
	} {
		for _, name := range names {
			upload(t, intake, service, name, 10*time.Second, 1)
			series++
		}
	}
	// What the last minutes are compared with.
	upload(t, intake, "checkout", "cpu", 6*time.Minute, 2)
	require.Eventually(t, func() bool {
		var all []any
		return assert.NoError(t, json.Unmarshal(call(t, http.MethodGet, pages+"/profiles", nil), &all)) && len(all) == series &&
			strings.Contains(string(call(t, http.MethodGet, pages+"/", nil)), `<td class="number count">2</td>`)
	}, patience, 20*time.Millisecond)
}

// upload sends a profile of a time before now, its values times a factor.
func upload(t *testing.T, intake, service, name string, age time.Duration, factor int64) {
	t.Helper()
	p := own(t, name)
	p.TimeNanos = time.Now().Add(-age).UnixNano()
	p.DurationNanos = int64(10 * time.Second)
	for i, s := range p.Sample {
		for j := range s.Value {
			s.Value[j] *= factor
		}
		s.Label = map[string][]string{"region": {[]string{"eu", "us"}[i%2]}}
		if service == "cart" { // The page of a trace has two types.
			s.Label["trace_id"], s.Label["span_id"] = []string{"4bf92f3577b34da6a3ce929d0e0e4736"}, []string{"00f067aa0ba902b7"}
		}
	}
	var payload bytes.Buffer
	require.NoError(t, p.Write(&payload))
	pod := fmt.Sprintf("%s-%d", service, factor)
	query := url.Values{"service.name": {service}, "profile.name": {name}, "resource.k8s.pod.name": {pod}}
	call(t, http.MethodPost, intake+"/v1/pprof?"+query.Encode(), payload.Bytes())
}

// rootFrame is the function that most samples of the CPU profile begin with.
func rootFrame(t *testing.T) string {
	t.Helper()
	values, most := map[string]int64{}, ""
	for _, s := range own(t, "cpu").Sample {
		lines := s.Location[len(s.Location)-1].Line
		name := lines[len(lines)-1].Function.Name
		if values[name] += s.Value[0]; values[name] > values[most] {
			most = name
		}
	}
	require.NotEmpty(t, most)
	_, short, found := strings.Cut(path.Base(most), ".")
	require.True(t, found)
	return short // where there is little room, the page shows names without their package
}

// own is one of the profiles of testdata/pprof.
func own(t *testing.T, name string) *profile.Profile {
	t.Helper()
	payload, err := os.ReadFile(profiletest.Testdata(t, "pprof", name+".pb.gz"))
	require.NoError(t, err)
	p, err := profile.ParseData(payload)
	require.NoError(t, err)
	return p
}

// view is what the script saw in one window.
type view struct {
	Size, ColorScheme        string
	Services                 []string
	Overflow, Rows           int
	Background, Frame, Title string
	Bar, Legend, Chosen      string
	BarOverflow              int
	BesideOverflow           int
	Labelled, Compared       string
	Brushed, Keyed           string
	Functions, OwnOverflow   int
	Found                    []string
	Searched                 string
	Complaints               []string
	Violations               []string
}

// firstPaint is when a browser painted the flame graph of the heap example for the first time, and what it fetched for that.
type firstPaint struct {
	Milliseconds, Answered float64
	Bytes, Files           int
}

// maxFirstPaint is how much a browser may have to fetch.
const maxFirstPaint = 500_000

// check bounds the bytes. The time depends on the machine: it is for people.
func (p *firstPaint) check(t *testing.T) {
	t.Helper()
	t.Logf("heap flame graph: first contentful paint after %.0f ms, the answer was there after %.0f ms, %d bytes in %d files", p.Milliseconds, p.Answered, p.Bytes, p.Files)
	assert.Positive(t, p.Milliseconds)
	assert.Equal(t, 3, p.Files, "the page and its scripts")
	assert.Positive(t, p.Bytes)
	assert.Less(t, p.Bytes, maxFirstPaint)
}

// assertExplored checks what was seen on the pages of functions, labels and comparisons, and by the timeline.
func (v *view) assertExplored(t *testing.T) {
	t.Helper()
	assert.Positive(t, v.Functions, v.Size)
	assert.Zero(t, max(v.OwnOverflow, 0), "%s: nothing is wider than the window", v.Size)
	assert.Contains(t, v.Labelled, "region = eu", v.Size)
	assert.Regexp(t, `compared with .*difference .*-50.0 %`, strings.ReplaceAll(v.Compared, "\n", " "), v.Size)
	assert.Contains(t, v.Brushed, "1 profile, ", v.Size)
	assert.Contains(t, v.Keyed, "2 profiles, ", v.Size)
}

// assertSeen checks what was seen on the way from the list to a flame graph and its comparison.
func (v *view) assertSeen(t *testing.T) {
	t.Helper()
	assert.Empty(t, v.Complaints)
	assert.Empty(t, v.Violations, "by axe-core")
	assert.Contains(t, v.Services, "checkout")
	assert.Equal(t, []string{"checkout", "", "", ""}, v.Found)
	assert.Equal(t, "check", v.Searched)
	assert.Contains(t, v.Services, hostile, "shown as it is")
	assert.Zero(t, max(v.Overflow, 0), "nothing is wider than the window")
	assert.Contains(t, v.Frame, rootFrame(t))
	assert.Equal(t, "checkout cpu, last 15 min – profiles", v.Title)
	assert.Contains(t, v.Bar, "2 profiles, ")
	assert.Contains(t, v.Chosen, "1 profile, ")
	assert.Zero(t, max(v.BarOverflow, v.BesideOverflow, 0), "nor is the flame graph")
	assert.Regexp(t, `compared with .*difference .*-50.0 %`, strings.ReplaceAll(v.Legend, "\n", " "))
	assert.Positive(t, v.Rows)
	if (v.Size == "wide") == (v.ColorScheme == "light") {
		v.assertExplored(t)
	}
}

// run starts a gateway that has profiles of the last minutes, runs the script in a browser, and reads what that says it saw.
func run(t *testing.T, browser, pictures string, seen any, arguments ...string) {
	t.Helper()
	intake, pages := start(t)
	fill(t, intake, pages)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"look.mjs", browser, pages + "/", pictures, rootFrame(t)}, arguments...)...)
	command.Dir = page
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it ends the browser
	command.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(output, seen), "%s", output)
}

// From the list to a flame graph, in windows of any size, in light and dark. Each has a gateway of its own, since what the last
// minutes are compared with is older after some.
func TestPages(t *testing.T) {
	browser := chromium(t)
	npm.Install(t, page)
	pictures := t.TempDir()
	if os.Getenv("OTELPPROF_SCREENSHOTS") != "" {
		var err error
		pictures, err = filepath.Abs("../../docs/images")
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(pictures, 0o750))
		defer shrinkAll(t, pictures)
	}
	var views [2][2]view
	t.Run("windows", func(t *testing.T) {
		for i, size := range []string{"wide", "narrow"} {
			for j, scheme := range []string{"light", "dark"} {
				t.Run(size+" "+scheme, func(t *testing.T) {
					t.Parallel()
					run(t, browser, pictures, &views[i][j], size, scheme)
					views[i][j].assertSeen(t)
				})
			}
		}
	})
	light, dark := views[0][0].Background, views[0][1].Background
	assert.NotEqual(t, light, dark)
	assert.Equal(t, light, views[1][0].Background)
	assert.Equal(t, dark, views[1][1].Background)
}

// Without JavaScript, and without a mouse; and how soon a first page is there.
func TestWithoutScriptsOrMouse(t *testing.T) {
	browser := chromium(t)
	npm.Install(t, page)
	var seen firstPaint
	run(t, browser, t.TempDir(), &seen)
	seen.check(t)
}
