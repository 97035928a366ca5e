// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// list returns the files that a pattern matches, each under one name. An error says that there may be more: a directory cannot be read.
func list(pattern string) ([]string, error) {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(pattern)))
	known := directories{}
	glob := func(options ...doublestar.GlobOption) ([]string, error) {
		return doublestar.FilepathGlob(pattern, options...)
	}
	if strings.Contains(rest, "**") {
		root := tree{StatFS: os.DirFS(base).(fs.StatFS), base: base, known: known} //nolint:forcetypeassert // see os.DirFS
		glob = func(options ...doublestar.GlobOption) ([]string, error) {
			names, err := doublestar.Glob(root, rest, options...)
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
	return known.withoutLinks(base, paths), err
}

// directories has the paths of directories without links, by path. A round has many files of one directory.
type directories map[string]string

// resolved returns the path of a directory without links.
func (d directories) resolved(path string) string {
	found, known := d[path]
	if !known {
		found = resolved(path)
		d[path] = found
	}
	return found
}

// resolved returns a path without links, or the path if it leads to nothing.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return path
}

// target returns the path of a file without links.
func (d directories) target(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return filepath.Join(d.resolved(filepath.Dir(path)), filepath.Base(path))
	}
	return resolved(path)
}

// withoutLinks returns one path for each file: its own, which has no link below base, or else the first one.
func (d directories) withoutLinks(base string, paths []string) []string {
	root := d.resolved(base)
	targets, chosen := make([]string, len(paths)), map[string]string{}
	for i, path := range paths {
		targets[i] = d.target(path)
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

// tree is a file system whose links do not lead to a directory above them: ** would follow them without end.
type tree struct {
	fs.StatFS
	base  string
	known directories
}

// ReadDir returns nothing if the directory is one above it.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	path := t.resolved(name)
	for above := name; above != "."; {
		if above = filepath.Dir(above); t.resolved(above) == path {
			return nil, nil
		}
	}
	return fs.ReadDir(t.StatFS, name)
}

func (t tree) resolved(name string) string { return t.known.resolved(filepath.Join(t.base, name)) }
