// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// File is a file of the store.
type File struct {
	Name string
	// Time is the time at which it was written.
	Time time.Time
	Size int64
}

// Newest returns the files of the store, the newest first, up to this number of bytes together. The error is that of opening the directory or
// of ctx.
func (s *Store) Newest(ctx context.Context, bytes int64) ([]File, error) {
	root, err := os.OpenRoot(s.options.Directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []File
	w := walker{
		wanted: s.options.Owns,
		visit: func(name string, info fs.FileInfo) {
			files = append(files, File{Name: name, Time: info.ModTime(), Size: info.Size()})
		},
		onError: s.options.OnError,
	}
	if err := w.walk(ctx, root, "", s.options.Depth); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return b.Time.Compare(a.Time) })
	for i, f := range files {
		if bytes -= f.Size; bytes < 0 {
			return files[:i], nil
		}
	}
	return files, nil
}

// Read returns the content of a file, which is in gzip, if it has at most limit bytes.
func (s *Store) Read(name string, limit int64) ([]byte, error) {
	f, err := s.directory().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%q has more than %d bytes", name, limit)
	}
	return content, err
}
