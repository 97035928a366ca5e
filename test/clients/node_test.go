// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node runs a script of the directory node, with the packages that its lock file names.
func node(t *testing.T, script string, arguments ...string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	if _, err := os.Stat(filepath.Join("node", "node_modules")); os.IsNotExist(err) {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
		install.Dir = "node"
		output, err := install.CombinedOutput()
		require.NoError(t, err, "npm ci: %s", output)
	}
	command := exec.CommandContext(t.Context(), "node", append([]string{script}, arguments...)...)
	command.Dir = "node"
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
	routes := 0
	for _, p := range g.profiles(t, "from-node", "cpu") {
		for _, sample := range samplesIn(p, "hotFunction") {
			if len(sample.Label["route"]) > 0 {
				assert.Equal(t, []string{"/cart"}, sample.Label["route"])
				routes++
			}
		}
	}
	assert.Positive(t, routes, "labels arrive")
	g.waitFor(t, "from-node", "inuse_space", "hotFunction")
}

// TestDatadogPprof posts what Datadog's library encodes, as a program would.
func TestDatadogPprof(t *testing.T) {
	g := start(t, "")
	node(t, "datadog.js", "http://"+g.intake+"/v1/pprof?service.name=from-library&profile.name=wall")
	p := g.waitFor(t, "from-library", "wall", "hotFunction")
	assert.Equal(t, []string{"sample", "wall", "cpu"}, typesOf(p))
	assert.Equal(t, []string{"/cart"}, samplesIn(p, "hotFunction")[0].Label["route"])
}
