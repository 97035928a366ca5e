// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipe does not stop a worker.
func TestNoPipe(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "pipe"), 0o600))
	_, result := get(t, newStore(t, settings(t.TempDir(), Directories{directory})), Binary{Kind: GNU, ID: idA, Path: "/pipe"})
	assert.Equal(t, Missing, result)
}
