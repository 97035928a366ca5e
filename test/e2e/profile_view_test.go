// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// serving is a gateway that holds profiles for others to fetch, at an address.
func serving(t *testing.T) (g *tester, address string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	g = start(t,
		"yaml:exporters: {profile_view: {endpoint: '"+addresses[0]+"'}}",
		"yaml:service: {pipelines: {profiles: {exporters: [profile_view]}}}")
	return g, "http://" + addresses[0]
}

// fetch returns what is at a URL once that is there.
func (g *tester) fetch(t *testing.T, target string) []byte {
	t.Helper()
	var body []byte
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		require.NoError(t, err)
		response, err := g.client.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		return err == nil && response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond, target)
	return body
}

// goCommand runs the go command, as a user has it.
func goCommand(t *testing.T, directory string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = directory
	command.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "go %s: %s", strings.Join(arguments, " "), output)
	return string(output)
}

// at is the example with another time and its values times a factor.
func at(t *testing.T, example *profile.Profile, when time.Time, factor int64) []byte {
	t.Helper()
	p := example.Copy()
	p.TimeNanos = when.UnixNano()
	for _, s := range p.Sample {
		for i := range s.Value {
			s.Value[i] *= factor
		}
	}
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	return out.Bytes()
}

// The Collector's authenticators stand before every page, and no other site may read one.
func TestEndpointAsksWhoIsThere(t *testing.T) {
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	g := start(t,
		"yaml:extensions: {bearertokenauth: {token: secret}}",
		"yaml:exporters: {profile_view: {endpoint: '"+addresses[0]+"', auth: {authenticator: bearertokenauth}}}",
		"yaml:service: {extensions: [health_check, pprof, bearertokenauth], pipelines: {profiles: {exporters: [profile_view]}}}")
	for _, path := range []string{"/", "/profiles", "/profiles/a/b", "/pgo/a", "/functions", "/download/svg", "/plain", "/info", "/static/page.js", "/querier.v1.QuerierService/ProfileTypes", "/nowhere"} {
		for token, allowed := range map[string]bool{"": false, "Bearer wrong": false, "Bearer secret": true} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addresses[0]+path, http.NoBody)
			require.NoError(t, err)
			request.Header.Set("Origin", "http://elsewhere.example")
			if token != "" {
				request.Header.Set("Authorization", token)
			}
			response, err := g.client.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, allowed, response.StatusCode != http.StatusUnauthorized, "%s with %q: %s", path, token, response.Status)
			assert.Empty(t, response.Header.Get("Access-Control-Allow-Origin"), path)
		}
	}
}

// go tool pprof fetches a window, compares two, and keeps one as a file.
func TestGoToolPprofFetches(t *testing.T) {
	g, address := serving(t)
	example := parse(t, readProfile(t, "cpu"))
	begin := time.Now().Add(-8 * time.Minute).UTC()
	g.accept(t, "?service.name=checkout", at(t, example, begin, 1))
	g.accept(t, "?service.name=checkout", at(t, example, begin.Add(6*time.Minute), 3))
	profiles := address + "/profiles/checkout/cpu"
	require.Eventually(t, func() bool {
		return strings.Contains(string(g.fetch(t, address+"/profiles")), `"profiles":2`)
	}, patience, 20*time.Millisecond)

	total := int64(0)
	for _, s := range example.Sample {
		total += s.Value[len(s.Value)-1]
	}
	sums := func(file string) (sum int64) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, s := range parse(t, data).Sample {
			sum += s.Value[len(s.Value)-1]
		}
		return sum
	}
	directory := t.TempDir()
	goCommand(t, directory, "tool", "pprof", "-proto", "-output", "all.pb.gz", profiles)
	assert.Equal(t, 4*total, sums(filepath.Join(directory, "all.pb.gz")))
	goCommand(t, directory, "tool", "pprof", "-proto", "-output", "seconds.pb.gz", "-seconds", "60", profiles)
	assert.Equal(t, 3*total, sums(filepath.Join(directory, "seconds.pb.gz")), "the last minute")
	between := url.QueryEscape(begin.Add(3 * time.Minute).Format(time.RFC3339))
	early, late := profiles+"?until="+between, profiles+"?from="+between
	goCommand(t, directory, "tool", "pprof", "-proto", "-output", "difference.pb.gz", "-diff_base", early, late)
	assert.Equal(t, 2*total, sums(filepath.Join(directory, "difference.pb.gz")))

	top := goCommand(t, directory, "tool", "pprof", "-top", "-nodecount", "5", profiles+"?window=1h30m")
	assert.Contains(t, top, "Type: cpu")
	assert.Contains(t, top, "flat%")
	command := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", address+"/profiles/nobody/cpu")
	output, err := command.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(output), `there is no profile of the service "nobody"`, "the text is shown to the user")
}

// hot is a program whose hot function costs more than is inlined without a profile. It imports nothing, so that a build
// with a profile, which compiles all that is imported anew, is quick.
const hot = `package main

var more = func() bool { return false }

func add(a []int, n int) int {
	a[n&7] += n * n
	for i := range a {
		if a[i] > n { a[i] -= n * 3 } else if a[i] < -n { a[i] += n * 5 } else { a[i] ^= n }
		a[(i+1)&7] += a[i] >> 3
		a[(i+2)&7] ^= a[i] << 1
		a[(i+3)&7] -= a[i] * 7
		a[(i+4)&7] += a[i] / 3
	}
	return a[n&7]
}

func sum(a []int) (total int) {
	for i := range 1000 {
		total += add(a, i)
	}
	return total
}

func main() {
	total, a := 0, make([]int, 8)
	for more() { total += sum(a) }
	println(total)
}
`

// profiled has it run for two seconds, and write its CPU profile.
const profiled = `//go:build profiled

package main

import (
	"os"
	"runtime/pprof"
	"time"
)

func init() {
	file, err := os.Create("cpu.pb.gz")
	if err != nil { panic(err) }
	if err := pprof.StartCPUProfile(file); err != nil { panic(err) }
	begin := time.Now()
	more = func() bool {
		if time.Since(begin) < 2*time.Second { return true }
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil { panic(err) }
		return false
	}
}
`

// A program is profiled, its profile served as default.pgo, and built with that: the hot call is inlined.
func TestGoBuildTakesThePGO(t *testing.T) {
	g, address := serving(t)
	directory := t.TempDir()
	for name, content := range map[string]string{
		"main.go": hot, "profiled.go": profiled, "go.mod": "module example.com/busy\n\ngo 1.26\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600))
	}
	inlines := func(pgo string) bool {
		log := goCommand(t, directory, "build", "-pgo="+pgo, "-gcflags=-m", "-o", os.DevNull, ".")
		return strings.Contains(log, "inlining call to add")
	}
	require.False(t, inlines("off"), "too large to be inlined without a profile")
	goCommand(t, directory, "build", "-pgo=off", "-tags=profiled", "-o", "busy", ".")
	program := exec.CommandContext(t.Context(), filepath.Join(directory, "busy"))
	program.Dir = directory
	output, err := program.CombinedOutput()
	require.NoError(t, err, "%s", output)

	payload, err := os.ReadFile(filepath.Join(directory, "cpu.pb.gz"))
	require.NoError(t, err)
	g.accept(t, "?service.name=busy", payload)
	pgo := g.fetch(t, address+"/pgo/busy?window=1h")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "default.pgo"), pgo, 0o600))
	assert.True(t, inlines("default.pgo"), "the profile says that it is hot")
	assert.True(t, inlines("auto"), "which is what a default.pgo beside main.go is for")
}
