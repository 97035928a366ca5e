// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// serving is a gateway that holds profiles for others to fetch, at an address.
func serving(t *testing.T) (g *tester, address string) {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	g = start(t,
		"yaml:exporters: {profile_view: {endpoint: '"+addresses[0]+"'}}",
		"yaml:service: {pipelines: {profiles: {exporters: [profile_view]}}}")
	return g, "http://" + addresses[0]
}

// fetch returns what is at a URL once that is there.
func (g *tester) fetch(t *testing.T, target string) (text string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { text = get(c, target) }, patience, 20*time.Millisecond, target)
	return text
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

// The Collector's authenticators stand before every page, and no other site may read one.
func TestEndpointAsksWhoIsThere(t *testing.T) {
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	start(t,
		"yaml:extensions: {bearertokenauth: {token: secret}}",
		"yaml:exporters: {profile_view: {endpoint: '"+addresses[0]+"', auth: {authenticator: bearertokenauth}}}",
		"yaml:service: {extensions: [health_check, pprof, bearertokenauth], pipelines: {profiles: {exporters: [profile_view]}}}")
	for _, path := range []string{"/", "/profiles", "/profiles/a/b", "/pgo/a", "/functions", "/download/svg", "/plain", "/info", "/static/page.js", "/querier.v1.QuerierService/ProfileTypes", "/nowhere"} {
		for token, allowed := range map[string]bool{"": false, "Bearer wrong": false, "Bearer secret": true} {
			answer := gatewaytest.Send(t, http.MethodGet, "http://"+addresses[0]+path, nil, "Origin", "http://elsewhere.example", "Authorization", token)
			assert.Equal(t, allowed, answer.Status != http.StatusUnauthorized, "%s with %q: %d", path, token, answer.Status)
			assert.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"), path)
		}
	}
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

// profiled has it run for a second of CPU time, however busy the machine is, and write its CPU profile.
const profiled = `//go:build profiled

package main

import (
	"os"
	"runtime/pprof"
	"syscall"
)

func init() {
	file, err := os.Create("cpu.pb.gz")
	if err != nil { panic(err) }
	if err := pprof.StartCPUProfile(file); err != nil { panic(err) }
	more = func() bool {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil { panic(err) }
		if used.Utime.Sec < 1 { return true }
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

	payload := must.Get(os.ReadFile(filepath.Join(directory, "cpu.pb.gz")))(t)
	g.accept(t, "?service.name=busy", payload)
	pgo := g.fetch(t, address+"/pgo/busy?window=1h")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "default.pgo"), []byte(pgo), 0o600))
	assert.True(t, inlines("default.pgo"), "the profile says that it is hot")
	assert.True(t, inlines("auto"), "which is what a default.pgo beside main.go is for")
}

// storing is a gateway that has a copy of what its pages show in a directory. more is configuration of the exporter.
func storing(t *testing.T, directory, more string) (g *tester, pages string) {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	g = start(t,
		fmt.Sprintf("yaml:exporters: {profile_view: {endpoint: '%s', directory: '%s', tenant: {metadata_key: x-scope-orgid, default: shared}, %s}}", addresses[0], directory, more),
		"yaml:receivers: {pprof: {server: {include_metadata: true}}}",
		"yaml:service: {pipelines: {profiles: {exporters: [profile_view]}}}")
	return g, "http://" + addresses[0]
}

// held returns how many profiles a tenant sees of each service.
func (g *tester) held(t *testing.T, pages, tenant string) map[string]int {
	t.Helper()
	answer := gatewaytest.Send(t, http.MethodGet, pages+"/profiles", nil, "X-Scope-Orgid", tenant)
	var all []struct {
		Service  string
		Profiles int
	}
	require.NoError(t, json.Unmarshal([]byte(answer.Text), &all))
	counts := map[string]int{}
	for _, s := range all {
		counts[s.Service] += s.Profiles
	}
	return counts
}

// stored waits until there are so many files.
func (g *tester) stored(t *testing.T, profiles int) {
	t.Helper()
	g.waitForMetric(t, float64(profiles), "otelcol_exporter_profile_view_stored_profiles")
}

// shows waits until a page is as it was before: on a slow machine a restore takes longer than pages wait for it.
func (g *tester) shows(t *testing.T, page, want string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, get(c, page)) }, patience, 20*time.Millisecond)
}

// TestPagesOutliveTheProcess: after a kill and after a reload the pages show what they showed before.
func TestPagesOutliveTheProcess(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recent")
	g, pages := storing(t, directory, "max_age: 1h")
	upload := readProfile(t, "heap")
	for i := range 4 {
		suffix := fmt.Sprintf("?service.name=kept&resource.upload=%d", i%3)
		g.accept(t, suffix, upload)
	}
	g.accept(t, "?service.name=secret", upload, "X-Scope-OrgID", "other")
	g.stored(t, 4)
	page := "/download/collapsed?type=memory:inuse_space:bytes:space:bytes&query=" + url.QueryEscape(`{service_name="kept"}`)
	want := g.fetch(t, pages+page)
	g.Kill()

	g, pages = storing(t, directory, "max_age: 1h")
	g.shows(t, pages+page, want)
	assert.Equal(t, map[string]int{"kept": 3}, g.held(t, pages, ""), "nothing of another tenant")
	assert.Equal(t, map[string]int{"secret": 1}, g.held(t, pages, "other"))
	g.accept(t, "?service.name=kept&resource.upload=0", upload)
	g.accept(t, "?service.name=kept&resource.upload=new", upload)
	g.stored(t, 5)
	assert.Equal(t, map[string]int{"kept": 4}, g.held(t, pages, ""), "equal uploads are one")
	want = g.fetch(t, pages+page)
	g.reload(t, 2)
	g.shows(t, pages+page, want)
	require.NoError(t, g.Stop(patience))

	// A smaller disk keeps the newest file.
	g, _ = storing(t, directory, "max_age: 1h, max_disk: 1KiB")
	const stored = "otelcol_exporter_profile_view_stored_profiles"
	require.Eventually(t, func() bool { return g.metric(t, stored) == 1 }, patience, 20*time.Millisecond)
}
