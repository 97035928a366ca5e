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

	"github.com/otelpprof/otelpprof/internal/testkit/npm"
)

// installed is a copy of the directory node, with its packages. Its name keeps other tools out of them.
const installed = ".node"

// node runs a script of the directory node, with the packages that its lock file names.
func node(t *testing.T, script string, arguments ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(installed, 0o750))
	files, err := filepath.Glob(filepath.Join("node", "*.js*"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
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
