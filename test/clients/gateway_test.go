// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/npm"
)

// patience is how long anything may take that a client or the gateway does by itself.
const patience = time.Minute

// config is a gateway from a receiver to files, whose comments tell of the resource. There is no queue, so that a client
// is answered when the file is written.
const config = `yaml:
receivers:
  pprof:
    %s
exporters:
  pprof:
    resource_comments: true
    sending_queue:
      enabled: false
    file:
      directory: %s
extensions:
  health_check:
    endpoint: %s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof]
      exporters: [pprof]
  telemetry:
    metrics:
      level: none
`

// tester is a running gateway.
type tester struct {
	*gateway.Gateway
	// intake is where the receiver listens, unless the test has it do something else.
	intake    string
	directory string
}

// start runs the distribution. receiver is the configuration of the receiver; without it, it is a server. more is
// configuration in files that are merged into the rest.
func start(t *testing.T, receiver string, more ...string) *tester {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 2))(t)
	g := &tester{intake: addresses[0], directory: filepath.Join(t.TempDir(), "profiles")}
	if receiver == "" {
		receiver = "server: {endpoint: " + g.intake + "}"
	}
	t.Cleanup(func() { // after the cleanup of Run, which stops the gateway
		if t.Failed() {
			t.Logf("the gateway wrote %q", g.files())
		}
	})
	g.Gateway = gatewaytest.Run(t, gateway.Options{
		Configs:   append([]string{fmt.Sprintf(config, receiver, g.directory, addresses[1])}, more...),
		HealthURL: "http://" + addresses[1],
	})
	return g
}

// files are the finished files, by their path below the directory of the exporter.
func (g *tester) files() (found []string) {
	_ = filepath.WalkDir(g.directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".pb.gz") {
			name, _ := filepath.Rel(g.directory, path)
			found = append(found, name)
		}
		return nil
	})
	return found
}

// profiles returns what was written for a service and a kind of profile.
func (g *tester) profiles(t *testing.T, service, kind string) (all []*profile.Profile) {
	t.Helper()
	for _, name := range g.files() {
		if filepath.Dir(name) != filepath.Join(service, kind) {
			continue
		}
		file := must.Get(os.Open(filepath.Join(g.directory, name)))(t)
		p, err := profile.Parse(file)
		file.Close()
		require.NoError(t, err)
		require.NoError(t, p.CheckValid())
		all = append(all, p)
	}
	return all
}

// waitFor returns a profile of the service and kind, once there is one in which a function of this name has a value.
func (g *tester) waitFor(t *testing.T, service, kind, function string) *profile.Profile {
	t.Helper()
	var found *profile.Profile
	require.Eventually(t, func() bool {
		for _, p := range g.profiles(t, service, kind) {
			if samplesIn(p, function) != nil {
				found = p
				return true
			}
		}
		return false
	}, patience, 100*time.Millisecond, "no profile %s/%s with %s", service, kind, function)
	return found
}

// samplesIn are the samples with a value and a stack in which the function stands.
func samplesIn(p *profile.Profile, function string) (found []*profile.Sample) {
	for _, sample := range p.Sample {
		if slices.ContainsFunc(sample.Value, func(v int64) bool { return v > 0 }) && reaches(sample, function) {
			found = append(found, sample)
		}
	}
	return found
}

func reaches(sample *profile.Sample, function string) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function != nil && strings.Contains(line.Function.Name, function) {
				return true
			}
		}
	}
	return false
}

// assertApart looks whether mutex and block profiles are what they are called: in the one there is who holds others up,
// in the other who is held up, and never who holds others up. Nothing else tells them apart.
func (g *tester) assertApart(t *testing.T, service string) {
	t.Helper()
	const locking, unlocking = "(*Mutex).Lock", "(*Mutex).Unlock"
	g.waitFor(t, service, "mutex", unlocking)
	g.waitFor(t, service, "block", locking)
	for _, p := range g.profiles(t, service, "block") {
		assert.Empty(t, samplesIn(p, unlocking))
	}
}

// assertLoad waits for a profile of each kind of a service that runs startLoad. The resource has these attributes besides its name.
func (g *tester) assertLoad(t *testing.T, service string, attributes ...string) {
	t.Helper()
	for kind, types := range map[string][]string{
		"cpu":       {"samples", "cpu"},
		"heap":      {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"goroutine": {"goroutine"},
		"mutex":     {"contentions", "delay"},
		"block":     {"contentions", "delay"},
	} {
		p := g.waitFor(t, service, kind, hot)
		assert.Equal(t, types, typesOf(p), kind)
		assertResource(t, p, append(attributes, "service.name="+service)...)
		for _, sample := range p.Sample {
			for _, value := range sample.Value {
				assert.GreaterOrEqual(t, value, int64(0), kind)
			}
		}
		if kind == "cpu" {
			assertLabel(t, hot, "controller", "cart", p)
		}
	}
	g.assertApart(t, service)
}

// assertLabel looks for a label of samples in which the function stands. Some samples may be without: a client may
// not know yet, or any more, what it works on.
func assertLabel(t *testing.T, function, key, value string, profiles ...*profile.Profile) {
	t.Helper()
	labelled := 0
	for _, p := range profiles {
		for _, sample := range samplesIn(p, function) {
			if len(sample.Label[key]) > 0 {
				assert.Equal(t, []string{value}, sample.Label[key])
				labelled++
			}
		}
	}
	assert.Positive(t, labelled, "no sample with %s", key)
}

// assertResource looks for attributes of the resource, key=value, in the comments.
func assertResource(t *testing.T, p *profile.Profile, attributes ...string) {
	t.Helper()
	for _, attribute := range attributes {
		assert.Contains(t, p.Comments, "resource:"+attribute)
	}
}

// typesOf are the sample types of a profile.
func typesOf(p *profile.Profile) (types []string) {
	for _, sampleType := range p.SampleType {
		types = append(types, sampleType.Type)
	}
	return types
}

// installed is a copy of the directory node, with its packages. Its name keeps other tools out of them.
const installed = ".node"

// node runs a script of the directory node, with the packages that its lock file names.
func node(t *testing.T, script string, arguments ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(installed, 0o750))
	files := must.Get(filepath.Glob(filepath.Join("node", "*.js*")))(t)
	for _, file := range files {
		content := must.Get(os.ReadFile(file))(t)
		require.NoError(t, os.WriteFile(filepath.Join(installed, filepath.Base(file)), content, 0o600))
	}
	npm.Install(t, installed)
	command := exec.CommandContext(t.Context(), "node", append([]string{script}, arguments...)...)
	command.Dir = installed
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, output)
	t.Logf("%s said: %s", script, output)
}

// TestPyroscopeNode uploads wall time with CPU time, and the heap.
func TestPyroscopeNode(t *testing.T) {
	g := start(t, "")
	node(t, "pyroscope.js", "http://"+g.intake)
	wall := g.waitFor(t, "from-node", "cpu", "hotFunction")
	assert.Equal(t, []string{"samples", "wall", "cpu"}, typesOf(wall))
	assertResource(t, wall, "service.name=from-node", "region=eu-1", "pyroscope_spy=nodespy")
	assertLabel(t, "hotFunction", "route", "/cart", g.profiles(t, "from-node", "cpu")...)
	g.waitFor(t, "from-node", "heap", "hotFunction")
}

// TestDatadogPprof posts what Datadog's library encodes, as a program would.
func TestDatadogPprof(t *testing.T) {
	g := start(t, "")
	node(t, "datadog.js", "http://"+g.intake+"/v1/pprof?service.name=from-library&profile.name=wall")
	p := g.waitFor(t, "from-library", "wall", "hotFunction")
	assert.Equal(t, []string{"sample", "wall", "cpu"}, typesOf(p))
	assertLabel(t, "hotFunction", "route", "/cart", p)
}
