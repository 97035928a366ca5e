// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// installed is a copy of the directory node, with its packages. Its name keeps other tools out of them.
const installed = ".node"

// node runs a script of the directory node, with the packages that its lock file names.
func node(t *testing.T, script string, arguments ...string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program+" is not installed")
		}
	}
	install(t)
	command := exec.CommandContext(t.Context(), "node", append([]string{script}, arguments...)...)
	command.Dir = installed
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, output)
	t.Logf("%s said: %s", script, output)
}

// install installs the packages, if the lock file is not that of those which are installed.
func install(t *testing.T) {
	t.Helper()
	const lock = "package-lock.json"
	wanted, err := os.ReadFile(filepath.Join("node", lock))
	require.NoError(t, err)
	have, _ := os.ReadFile(filepath.Join(installed, lock))
	files, err := filepath.Glob(filepath.Join("node", "*.js*"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(installed, 0o750))
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(installed, filepath.Base(file)), content, 0o600))
	}
	if _, err := os.Stat(filepath.Join(installed, "node_modules")); err == nil && bytes.Equal(wanted, have) {
		return
	}
	command := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
	command.Dir = installed
	output, err := command.CombinedOutput()
	if err != nil {
		// The next run must not take a part of it for all.
		_ = os.RemoveAll(filepath.Join(installed, "node_modules"))
	}
	require.NoError(t, err, "npm ci: %s", output)
}

// TestPyroscopeNode uploads wall time with CPU time, and the heap.
func TestPyroscopeNode(t *testing.T) {
	g := start(t, "")
	node(t, "pyroscope.js", "http://"+g.intake)
	wall := g.waitFor(t, "from-node", "cpu", "hotFunction")
	assert.Equal(t, []string{"samples", "wall", "cpu"}, typesOf(wall))
	assertResource(t, wall, "service.name=from-node", "region=eu-1", "pyroscope_spy=nodespy")
	assertLabel(t, "hotFunction", "route", "/cart", g.profiles(t, "from-node", "cpu")...)
	g.waitFor(t, "from-node", "inuse_space", "hotFunction")
}

// TestDatadogPprof posts what Datadog's library encodes, as a program would.
func TestDatadogPprof(t *testing.T) {
	g := start(t, "")
	node(t, "datadog.js", "http://"+g.intake+"/v1/pprof?service.name=from-library&profile.name=wall")
	p := g.waitFor(t, "from-library", "wall", "hotFunction")
	assert.Equal(t, []string{"sample", "wall", "cpu"}, typesOf(p))
	assertLabel(t, "hotFunction", "route", "/cart", p)
}
