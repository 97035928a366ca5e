// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// A full disk does not make a file unusable for long.
func TestFullDisk(t *testing.T) {
	directories, a := directoryOfA(t)
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	set := settings(t.TempDir(), directories)
	set.Memory = memoryOf(func(int64) error { // The file of the index becomes one that is full.
		open, err := os.ReadDir("/proc/self/fd")
		for _, entry := range open {
			name, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			if number, _ := strconv.Atoi(entry.Name()); strings.HasPrefix(name, filepath.Join(set.Directory, cacheVersion, "new-")) {
				err = syscall.Dup3(int(full.Fd()), number, syscall.O_CLOEXEC)
			}
		}
		return err
	})
	report := reportOf(&set)
	_, result := get(t, newStore(t, set), a)
	assert.Equal(t, Failed, result)
	err := errors.Join(report.errs...)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotErrorIs(t, err, errUnusable)
}
