// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	root    = "../.."
	gate    = "--feature-gates=service.profilesSupport"
	program = "otelcol-pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(content)
}

// validate hands configurations, as texts, to the binary's own check, with the environment of the container.
func validate(t *testing.T, environment map[string]string, texts ...string) {
	t.Helper()
	binary := os.Getenv("OTELPPROF_BINARY")
	if binary == "" {
		require.Empty(t, os.Getenv("CI"), "OTELPPROF_BINARY does not name the built distribution")
		t.Log("not validated: OTELPPROF_BINARY does not name the built distribution")
		return
	}
	arguments := []string{"validate", gate}
	for _, text := range texts {
		arguments = append(arguments, "--config", "yaml:"+text)
	}
	command := exec.CommandContext(t.Context(), binary, arguments...)
	for name, value := range environment {
		command.Env = append(command.Env, name+"="+value)
	}
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
}
