// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
)

// TestFirstProfile pastes the commands of the README for the first profile into a shell, as one block.
func TestFirstProfile(t *testing.T) {
	_, section, found := strings.Cut(read(t, filepath.Join(root, "README.md")), "\n## Your first profile\n")
	require.True(t, found)
	blocks := strings.Split(section, "```")
	require.Greater(t, len(blocks), 3)
	require.Equal(t, "shell\nmake run\n", blocks[1])
	commands := strings.TrimPrefix(blocks[3], "shell\n")

	binary := gatewaytest.Binary(t)
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	directory := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(top, "testdata"), filepath.Join(directory, "testdata")))
	a, err := gateway.FreeAddresses(t.Context(), 4)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g, err := gateway.Start(ctx, gateway.Options{
		Binary: binary,
		Configs: []string{
			filepath.Join(top, "config", "demo.yaml"),
			"yaml:exporters::pprof::file::directory: " + filepath.Join(directory, "profiles"),
			"yaml:receivers::pprof::server::endpoint: " + a[0],
			"yaml:exporters::profile_view::endpoint: " + a[1],
			"yaml:extensions::health_check::endpoint: " + a[2],
			"yaml:extensions::zpages::endpoint: " + a[3],
			"yaml:service::telemetry::metrics::level: none",
		},
		HealthURL: "http://" + a[2],
	})
	require.NoError(t, err)
	defer g.Kill()

	shell := exec.CommandContext(ctx, "bash", "-e", "-c", strings.ReplaceAll(commands, "127.0.0.1:4040", a[0]))
	shell.Dir = directory
	output, err := shell.CombinedOutput()
	require.NoError(t, err, string(output))
	assert.Contains(t, string(output), "204 No Content")
	assert.Contains(t, string(output), "Type: cpu")
}
