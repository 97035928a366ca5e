// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package npm gives tests the packages of Node.js that a lock file names.
package npm // import "github.com/otelpprof/otelpprof/internal/testkit/npm"

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// Install installs the packages of the lock file in a directory, unless they are there. It does not run their scripts. Without node
// or npm, or if npm reaches no registry, the test skips, see [requirement.Missing].
func Install(tb testing.TB, directory string) {
	tb.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			requirement.Missing(tb, "%s is not installed", program)
		}
	}
	wanted, err := os.ReadFile(filepath.Join(directory, "package-lock.json")) //nolint:gosec // a directory of the repository
	require.NoError(tb, err)
	stamp := filepath.Join(directory, "node_modules", "installed-lock.json")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(wanted, have) { //nolint:gosec // as above
		return
	}
	command := exec.CommandContext(tb.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		requirement.Missing(tb, "npm cannot install the packages of %s: %s\n%s", directory, err, output)
	}
	require.NoError(tb, os.WriteFile(stamp, wanted, 0o600)) //nolint:gosec // as above
}
