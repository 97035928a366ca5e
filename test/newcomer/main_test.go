// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package newcomer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const root = "../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// absolute returns the path of a file of the repository.
func absolute(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Abs(filepath.Join(root, path))
	require.NoError(t, err)
	return found
}
