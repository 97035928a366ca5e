// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// The functions of the page that need no browser have tests in JavaScript.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		requirement.Missing(t, "node is not installed")
	}
	output, err := exec.CommandContext(t.Context(), node, "--test", "page/_test/").CombinedOutput()
	require.NoError(t, err, "%s", output)
}
