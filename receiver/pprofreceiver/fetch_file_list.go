// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// list returns the files that a pattern matches, each under one name. An error says that there may be more: a directory cannot be read.
func list(pattern string) ([]string, error) {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(pattern)))
	glob := func(options ...doublestar.GlobOption) ([]string, error) {
		return doublestar.FilepathGlob(pattern, options...)
	}
	if strings.Contains(rest, "**") {
		glob = func(options ...doublestar.GlobOption) ([]string, error) {
			names, err := doublestar.Glob(newTree(base), rest, options...)
			for i, name := range names {
				names[i] = filepath.Join(base, name)
			}
			return names, err
		}
	}
	paths, err := glob(doublestar.WithFailOnIOErrors())
	if err != nil {
		err = fmt.Errorf("cannot list all files: %w", err)
		paths, _ = glob() // The error would be the same one.
	}
	return withoutLinks(base, paths), err
}

// withoutLinks returns one path for each file: its own, which has no link below base, or else the first one.
func withoutLinks(base string, paths []string) []string {
	root := resolved(base)
	targets, chosen := make([]string, len(paths)), map[string]string{}
	for i, path := range paths {
		targets[i] = resolved(path)
		name, _ := filepath.Rel(base, path) // It begins with base.
		if _, found := chosen[targets[i]]; !found || targets[i] == filepath.Join(root, name) {
			chosen[targets[i]] = path
		}
	}
	kept := paths[:0]
	for i, path := range paths {
		if chosen[targets[i]] == path {
			kept = append(kept, path)
		}
	}
	return kept
}

// resolved returns a path without links, or the path if it leads to nothing.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return path
}

// tree is a file system whose links do not lead to a directory above them: ** would follow them without end.
type tree struct {
	fs.StatFS
	base string
	// targets has what [resolved] returned for a name.
	targets map[string]string
}

func newTree(base string) tree {
	return tree{StatFS: os.DirFS(base).(fs.StatFS), base: base, targets: map[string]string{}} //nolint:forcetypeassert // see os.DirFS
}

// ReadDir returns nothing if the directory is one above it.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	for above := name; above != "."; {
		if above = path.Dir(above); t.resolved(above) == t.resolved(name) {
			return nil, nil
		}
	}
	return fs.ReadDir(t.StatFS, name)
}

func (t tree) resolved(name string) string {
	found, known := t.targets[name]
	if !known {
		found = resolved(filepath.Join(t.base, name))
		t.targets[name] = found
	}
	return found
}
