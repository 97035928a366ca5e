// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An index that cannot be opened now, such as while the process has too many files, stays. One that is damaged does not.
func TestCacheRemovesDamaged(t *testing.T) {
	c := cache{directory: t.TempDir()}
	b := Binary{Kind: GNU, ID: idA}
	require.NoError(t, os.MkdirAll(c.path(b), 0o700)) // A directory cannot be mapped.
	_, err := c.load(b)
	require.Error(t, err)
	assert.DirExists(t, c.path(b))
	require.NoError(t, os.Remove(c.path(b)))
	write(t, c.path(b), []byte("damaged"))
	_, err = c.load(b)
	require.Error(t, err)
	assert.NoFileExists(t, c.path(b))
}
