// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noise cannot be compressed, so that its file has about the same size.
func noise(size int, seed uint64) []byte {
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = random.Read(data)
	return data
}

// smallDisk mounts a file system of 256 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a real full disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(directory, 0)) })
	return directory
}

// A write on a full disk leaves no file behind. The same write succeeds when there is space.
func TestFullDisk(t *testing.T) {
	directory := smallDisk(t)
	s := newStore(t, newOptions(t, directory))
	var err error
	written := 0
	for ; err == nil; written++ {
		require.Less(t, written, 10)
		_, err = s.Write(fmt.Sprintf("a/b/%d.pb.gz", written), noise(50_000, uint64(written)), nil)
	}
	written--
	require.Equal(t, ClassFull, ClassOf(err), "%v", err)
	assert.Len(t, tree(t, directory), written, "and no temporary file")

	require.NoError(t, os.Remove(below(directory, "a/b/0.pb.gz")))
	_, err = s.Write(fmt.Sprintf("a/b/%d.pb.gz", written), noise(50_000, uint64(written)), nil)
	require.NoError(t, err)
	assert.Len(t, tree(t, directory), written)
}

func TestReadOnlyDisk(t *testing.T) {
	directory := smallDisk(t)
	s := newStore(t, newOptions(t, directory))
	require.NoError(t, syscall.Mount("", directory, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	_, err := s.Write("a/b/c.pb.gz", []byte("profile"), nil)
	require.Error(t, err)
	assert.Equal(t, ClassDenied, ClassOf(err), "%v", err)
	_, err = Open(newOptions(t, directory))
	require.ErrorContains(t, err, "cannot write to")
	require.NoError(t, syscall.Mount("", directory, "", syscall.MS_REMOUNT, ""))
	_, err = s.Write("a/b/c.pb.gz", []byte("profile"), nil)
	require.NoError(t, err)
}

func TestForbiddenDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	options := newOptions(t, t.TempDir())
	s := newStore(t, options)
	require.NoError(t, os.Chmod(options.Directory, 0o500))
	defer os.Chmod(options.Directory, 0o700)
	_, err := s.Write("a/b/c.pb.gz", []byte("profile"), nil)
	require.Error(t, err)
	assert.Equal(t, ClassDenied, ClassOf(err), "%v", err)
	assert.NotContains(t, err.Error(), "blocked")
}
