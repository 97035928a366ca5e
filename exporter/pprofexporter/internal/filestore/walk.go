// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// walkBatch is how many names of a directory are read at once.
const walkBatch = 512

// walker visits regular files down to a depth. It follows no symbolic links and keeps no list, however large a
// directory is.
type walker struct {
	// wanted tells which files are of interest by their paths; the others are not even looked at.
	wanted func(name string) bool
	// visit is called with the path of each wanted file, relative to where the walk began.
	visit func(name string, info fs.FileInfo)
	// trouble is called with what could not be read; the walk goes on.
	trouble func(error)
}

// walk returns the context's error if that ended it.
func (w walker) walk(ctx context.Context, root *os.Root, prefix string, depth int) error {
	opened, err := root.Open(".")
	if err != nil {
		w.trouble(fmt.Errorf("cannot open directory %q: %w", prefix, err))
		return nil
	}
	defer opened.Close()
	for ctx.Err() == nil {
		entries, err := opened.ReadDir(walkBatch)
		for _, entry := range entries {
			w.enter(ctx, root, path.Join(prefix, entry.Name()), entry, depth)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.trouble(fmt.Errorf("cannot read directory %q: %w", prefix, err))
			break
		}
	}
	return ctx.Err()
}

// enter visits a file or walks a directory. What vanishes meanwhile is no trouble.
func (w walker) enter(ctx context.Context, root *os.Root, name string, entry fs.DirEntry, depth int) {
	switch {
	case entry.IsDir() && depth > 1:
		below, err := root.OpenRoot(entry.Name())
		if err == nil {
			defer below.Close()
			_ = w.walk(ctx, below, name, depth-1) // the caller asks the context itself
		} else if !isAbsent(err) {
			w.trouble(fmt.Errorf("cannot open directory %q: %w", name, err))
		}
	case entry.Type().IsRegular() && w.wanted(name):
		info, err := root.Lstat(entry.Name())
		if err == nil && info.Mode().IsRegular() {
			w.visit(name, info)
		} else if err != nil && !isAbsent(err) {
			w.trouble(fmt.Errorf("cannot look at %q: %w", name, err))
		}
	}
}
