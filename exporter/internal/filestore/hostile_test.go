// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package filestore

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// plant creates a directory for a store, a second directory that must not change, and symbolic links between them.
func plant(t *testing.T, links map[string]string) (options Options, outside string) {
	t.Helper()
	base := t.TempDir()
	options, outside = newOptions(t, filepath.Join(base, "profiles")), filepath.Join(base, "outside")
	require.NoError(t, os.MkdirAll(outside, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.pb.gz"), []byte("secret"), 0o600))
	for from, to := range links {
		from = below(options.Directory, from)
		require.NoError(t, os.MkdirAll(filepath.Dir(from), 0o750))
		require.NoError(t, os.Symlink(strings.ReplaceAll(to, "OUTSIDE", outside), from))
	}
	return options, outside
}

// unharmed checks that nothing was written outside of the store's directory.
func unharmed(t *testing.T, outside string) {
	t.Helper()
	entries := must.Get(os.ReadDir(outside))(t)
	require.Len(t, entries, 1)
	content := must.Get(os.ReadFile(filepath.Join(outside, "secret.pb.gz")))(t)
	assert.Equal(t, "secret", string(content))
	above := must.Get(os.ReadDir(filepath.Dir(outside)))(t)
	assert.Len(t, above, 2, "only the two directories")
}

// The caller cleans names. The store stays in its directory even if the caller fails to.
func TestNamesThatLeaveTheDirectory(t *testing.T) {
	options, outside := plant(t, nil)
	s := newStore(t, options)
	for _, name := range []string{
		"../outside/x.pb.gz", "../x.pb.gz", "a/../../outside/x.pb.gz", outside + "/x.pb.gz", "a/b/../../../x.pb.gz", "a/\x00/x.pb.gz",
	} {
		_, err := s.Write(name, []byte("profile"), nil)
		require.Error(t, err, name)
		unharmed(t, outside)
	}
}

func TestLinksInTheWay(t *testing.T) {
	for _, test := range []struct {
		name  string
		links map[string]string
	}{
		{"absolute, first directory", map[string]string{"checkout": "OUTSIDE"}},
		{"absolute, second directory", map[string]string{"checkout/cpu": "OUTSIDE"}},
		{"relative", map[string]string{"checkout": "../outside"}},
		{"the root", map[string]string{"checkout": "/"}},
		{"dangling", map[string]string{"checkout/cpu": "nowhere"}},
		{"loop", map[string]string{"checkout": "checkout"}},
		{"two steps", map[string]string{"checkout": "step", "step": "../outside"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			options, outside := plant(t, test.links)
			s := newStore(t, options)
			_, err := s.Write("checkout/cpu/x.pb.gz", []byte("profile"), nil)
			require.ErrorIs(t, err, errBlocked)
			assert.Equal(t, ClassBlocked, ClassOf(err))
			unharmed(t, outside)
			_, err = s.Write("other/cpu/x.pb.gz", []byte("profile"), nil)
			assert.NoError(t, err, "others are not affected")
		})
	}
}

// A link at the file's own name is neither followed nor replaced, not even one to a file with the same content.
func TestLinksAtTheName(t *testing.T) {
	for _, target := range []string{"OUTSIDE/secret.pb.gz", "../../../outside/secret.pb.gz", "OUTSIDE/new.pb.gz", "../../same/t/x.pb.gz"} {
		options, outside := plant(t, map[string]string{"checkout/cpu/x.pb.gz": target})
		s := newStore(t, options)
		must.Get(s.Write("same/t/x.pb.gz", []byte("profile"), nil))(t)
		result := must.Get(s.Write("checkout/cpu/x.pb.gz", []byte("profile"), nil))(t)
		assert.True(t, result.Renamed)
		info := must.Get(os.Lstat(below(options.Directory, result.Name)))(t)
		assert.True(t, info.Mode().IsRegular())
		unharmed(t, outside)
	}
}

// A write fails if the name and the name with the suffix are both taken.
func TestBothNamesTaken(t *testing.T) {
	options, outside := plant(t, nil)
	s := newStore(t, options)
	must.Get(s.Write("a/b/x.pb.gz", []byte("one"), nil))(t)
	second := must.Get(s.Write("a/b/x.pb.gz", []byte("two"), nil))(t)
	require.NoError(t, os.Remove(below(options.Directory, second.Name)))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.pb.gz"), below(options.Directory, second.Name)))
	_, err := s.Write("a/b/x.pb.gz", []byte("two"), nil)
	require.ErrorIs(t, err, errBlocked)
	unharmed(t, outside)
}

func TestThingsInTheWay(t *testing.T) {
	options, outside := plant(t, nil)
	s := newStore(t, options)
	require.NoError(t, os.WriteFile(below(options.Directory, "file"), nil, 0o600))
	require.NoError(t, os.MkdirAll(below(options.Directory, "a/b"), 0o750))
	require.NoError(t, syscall.Mkfifo(below(options.Directory, "pipe"), 0o600))
	require.NoError(t, syscall.Mkfifo(below(options.Directory, "a/b/pipe.pb.gz"), 0o600))
	for _, name := range []string{"file/cpu/x.pb.gz", "pipe/cpu/x.pb.gz"} {
		_, err := s.Write(name, []byte("profile"), nil)
		require.ErrorIs(t, err, errBlocked, name)
	}
	result, err := s.Write("a/b/pipe.pb.gz", []byte("profile"), nil)
	require.NoError(t, err, "a pipe must not block the reader")
	assert.True(t, result.Renamed)
	_, err = s.Write("a/b/"+strings.Repeat("x", 300)+".pb.gz", []byte("profile"), nil)
	assert.Equal(t, ClassBlocked, ClassOf(err), "a name that the file system does not take: %v", err)
	unharmed(t, outside)
}

// Retention follows no links and removes only the store's files.
func TestRetentionStaysInside(t *testing.T) {
	options, outside := plant(t, map[string]string{"checkout": "OUTSIDE", "a/cpu": "../../outside", "a/b/link.pb.gz": "OUTSIDE/secret.pb.gz"})
	options.MaxTotalSize = 1
	options.Owns = func(path string) bool { return strings.HasSuffix(path, ".pb.gz") }
	options.Depth = 5
	s := newStore(t, options)
	s.stop() // the test runs the retention itself: two at a time would count a removed file twice
	for _, name := range []string{"a/b/1.pb.gz", "a/b/2.pb.gz", "a/b/3.pb.gz"} {
		must.Get(s.Write(name, []byte("profile"), nil))(t)
	}
	retention := &retention{store: s}
	retention.walk(t.Context(), true)
	retention.nextWalk = retention.walked
	retention.enforce(t.Context())
	assertOneFile(t, s)
	_, err := os.Lstat(below(options.Directory, "a/b/link.pb.gz"))
	require.NoError(t, err)
	unharmed(t, outside)
}
