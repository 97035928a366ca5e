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
	"slices"
	"time"
)

// walkBatch is the number of names that one read of a directory returns.
const walkBatch = 512

// walker visits the regular files of a directory tree down to a depth. It does not follow symbolic links. Its memory does not depend
// on the size of a directory.
type walker struct {
	// wanted returns whether to visit the file with this path.
	wanted func(name string) bool
	// visit is called for each wanted file. Its name is relative to the root of the walk.
	visit func(File)
	// onError is called for each error. The walk continues.
	onError func(error)
}

// walk visits the files in root. Its error is that of ctx.
func (w walker) walk(ctx context.Context, root *os.Root, prefix string, depth int) error {
	opened, err := root.Open(".")
	if err != nil {
		w.failed("open directory", prefix, err)
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
			w.failed("read directory", prefix, err)
			break
		}
	}
	return ctx.Err()
}

// enter visits a file or walks a directory.
func (w walker) enter(ctx context.Context, root *os.Root, name string, entry fs.DirEntry, depth int) {
	switch {
	case entry.IsDir() && depth > 1:
		below, err := root.OpenRoot(entry.Name())
		if err != nil {
			w.failed("open directory", name, err)
			return
		}
		defer below.Close()
		_ = w.walk(ctx, below, name, depth-1) // the caller checks the context itself
	case entry.Type().IsRegular() && w.wanted(name):
		info, err := root.Lstat(entry.Name())
		if err != nil {
			w.failed("read the attributes of", name, err)
		} else if info.Mode().IsRegular() {
			w.visit(File{Name: name, Time: info.ModTime(), Size: info.Size()})
		}
	}
}

// failed reports an error. It is no error if someone removes what is below the root during the walk.
func (w walker) failed(action, name string, err error) {
	if name == "" || !isAbsent(err) {
		w.onError(fmt.Errorf("cannot %s %q: %w", action, name, err))
	}
}

// File is a file of the store.
type File struct {
	Name string
	// Time is the time at which it was written.
	Time time.Time
	Size int64
}

// Newest returns the files of the store, the newest first. The error is that of opening the directory or of ctx.
func (s *Store) Newest(ctx context.Context) ([]File, error) {
	root, err := os.OpenRoot(s.options.Directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []File
	w := walker{
		wanted:  s.options.Owns,
		visit:   func(f File) { files = append(files, f) },
		onError: s.options.OnError,
	}
	if err := w.walk(ctx, root, "", s.options.Depth); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return b.Time.Compare(a.Time) })
	return files, nil
}

// Read returns the content of a file, which is in gzip, if it still has its size.
func (s *Store) Read(file File) ([]byte, error) {
	f, err := s.directory().Open(file.Name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, file.Size)
	_, err = io.ReadFull(f, content)
	return content, err
}
