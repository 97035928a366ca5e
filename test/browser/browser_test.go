// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/npm"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
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
    trace_url: https://traces.example.com/{trace_id}?span={span_id}
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
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 3))(t)
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{fmt.Sprintf(config, addresses[0], addresses[1], addresses[2])}, HealthURL: "http://" + addresses[2],
	})
	return "http://" + addresses[0], "http://" + addresses[1] + "/profiling"
}

// call returns the body of an answer that must be a success.
func call(t *testing.T, method, target string, body []byte) []byte {
	t.Helper()
	answer := gatewaytest.Send(t, method, target, body)
	require.Less(t, answer.Status, 300, "%s: %s", target, answer.Text)
	return []byte(answer.Text)
}

// fill uploads profiles of several services and waits until all are held.
func fill(t *testing.T, intake, pages string) {
	t.Helper()
	uploads := []upload{
		{service: hostile, name: "heap", age: time.Minute},
		{service: "checkout", name: "heap", age: 105 * time.Second},
		{service: "checkout", name: "heap", age: time.Minute},
		{service: "checkout", name: "goroutine", age: time.Minute},
		{service: "checkout", name: "mutex", age: time.Minute},
		{service: "cart", name: "cpu", age: 2 * time.Minute, traced: true},
		{service: "search", name: "cpu", age: 3 * time.Minute},
	}
	for i := range 8 {
		uploads = append(uploads, upload{service: fmt.Sprintf("worker-%d", i), name: "mutex", age: time.Duration(i+1) * time.Minute})
	}
	// Ten minutes of one service, with a spike. In the first half, some stacks took longer.
	for i := range 36 {
		age := time.Duration(i)*15*time.Second + 5*time.Second
		uploads = append(uploads, upload{service: "checkout", name: "cpu", age: age, changed: i >= 20, spike: i == 7})
	}
	for _, u := range uploads {
		u.send(t, intake)
	}
	require.Eventually(t, func() bool {
		var all []struct{ Profiles int }
		sum := 0
		if assert.NoError(t, json.Unmarshal(call(t, http.MethodGet, pages+"/profiles", nil), &all)) {
			for _, one := range all {
				sum += one.Profiles
			}
		}
		return sum == len(uploads)
	}, patience, 20*time.Millisecond)
}

// upload is a profile of testdata/pprof, of some time ago.
type upload struct {
	service, name string
	age           time.Duration
	// changed triples every third sample, spike multiplies all, traced gives them a trace and a span.
	changed, spike, traced bool
}

func (u *upload) send(t *testing.T, intake string) {
	t.Helper()
	p := own(t, u.name)
	p.TimeNanos = time.Now().Add(-u.age).UnixNano()
	p.DurationNanos = int64(10 * time.Second)
	pod := int64(u.age / (15 * time.Second) % 3)
	for i, s := range p.Sample {
		for j := range s.Value {
			s.Value[j] *= 4 + pod
			if u.changed && i%3 == 0 {
				s.Value[j] *= 3
			}
			if u.spike {
				s.Value[j] *= 3
			}
		}
		s.Label = map[string][]string{"region": {[]string{"eu", "us"}[i%2]}}
		if u.traced {
			s.Label["trace_id"], s.Label["span_id"] = []string{"4bf92f3577b34da6a3ce929d0e0e4736"}, []string{"00f067aa0ba902b7"}
		}
	}
	var payload bytes.Buffer
	require.NoError(t, p.Write(&payload))
	query := url.Values{"service.name": {u.service}, "profile.name": {u.name}, "resource.k8s.pod.name": {fmt.Sprintf("web-%d", pod)}}
	call(t, http.MethodPost, intake+"/v1/pprof?"+query.Encode(), payload.Bytes())
}

// own is one of the profiles of testdata/pprof.
func own(t *testing.T, name string) *profile.Profile {
	t.Helper()
	payload := must.Get(os.ReadFile(profiletest.Testdata(t, "pprof", name+".pb.gz")))(t)
	p := must.Get(profile.ParseData(payload))(t)
	return p
}

// The page in Chromium, in windows of any size, in light and dark. _page/page.test.mjs says what is looked at.
func TestPage(t *testing.T) {
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
	intake, pages := start(t)
	fill(t, intake, pages)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "node", "--test", "--test-reporter=spec", "page.test.mjs")
	command.Dir = page
	command.Env = append(os.Environ(), "CHROMIUM="+browser, "ADDRESS="+pages+"/", "PICTURES="+pictures)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it ends the browser
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

// shrinkAll rewrites the pictures of a directory with the 256 colours that most of their pixels have: the documents load them,
// and the repository keeps them for ever.
func shrinkAll(t *testing.T, directory string) {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(directory, "*.png")))(t)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		file := must.Get(os.Open(path))(t)
		picture, err := png.Decode(file)
		require.NoError(t, file.Close())
		require.NoError(t, err, path)
		out := must.Get(os.Create(path))(t)
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		require.NoError(t, encoder.Encode(out, paletted(picture)))
		require.NoError(t, out.Close())
	}
}

// paletted returns a picture of few colours.
func paletted(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	pixels := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			pixels[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int { return cmp.Compare(pixels[b], pixels[a]) })
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			index, known := nearest[c]
			if !known {
				index = uint8(palette.Index(c))
				nearest[c] = index
			}
			few.SetColorIndex(x, y, index)
		}
	}
	return few
}
