// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// Directories finds files in directories: by build id, as debuggers do, and by the path that the process had. A path of a profile never
// leads out of the directories, also not by a symbolic link.
type Directories []string

func (Directories) name() string { return "directories" }

// find opens the files one after the other.
func (d Directories) find(ctx context.Context, b Binary, use func(*os.File, ...elffile.Section) bool) error {
	found := false
	for _, directory := range d {
		for _, name := range names(b) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			file := openRegular(directory, name)
			if file == nil {
				continue
			}
			found = true
			more := use(file)
			_ = file.Close()
			if !more {
				return nil
			}
		}
	}
	if !found {
		return ErrNotFound
	}
	return nil
}

// names returns where a binary can be in a directory. The first ones have debug information.
func names(b Binary) (names []string) {
	if b.Kind != Go {
		prefix := filepath.Join(".build-id", b.ID[:2], b.ID[2:])
		names = append(names, prefix+".debug")
		defer func() { names = append(names, prefix) }()
	}
	// As a path from the root, it has no way up.
	name := strings.TrimPrefix(path.Clean("/"+b.Path), "/")
	if name == "" || strings.ContainsRune(name, 0) {
		return names
	}
	name = filepath.FromSlash(name)
	if names = append(names, name+".debug", name); filepath.Base(name) != name {
		names = append(names, filepath.Base(name))
	}
	return names
}

// openRegular opens a regular file in a directory, or returns nil. It does not wait for the other end of a pipe.
func openRegular(directory, name string) *os.File {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil // The directory can appear later.
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil
	}
	return file
}
