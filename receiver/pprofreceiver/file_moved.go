// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"io/fs"
	"os"
	"path/filepath"
)

// movedFiles are the files in the directory that files are moved to. The pattern can reach that directory by another path: a
// relative one, or one with links. It is valid for one round, since the directory can be replaced.
type movedFiles struct {
	// directory is nil if there is none. Then no file was moved there.
	directory fs.FileInfo
	// known says for paths of directories whether they are that directory.
	known map[string]bool
}

func newMovedFiles(moveTo string) *movedFiles {
	m := &movedFiles{known: map[string]bool{}}
	if moveTo == "" {
		return m
	}
	if info, err := os.Stat(moveTo); err == nil {
		m.directory = info
	}
	return m
}

// have reports whether a file was moved.
func (m *movedFiles) have(path string) bool {
	if m.directory == nil {
		return false
	}
	parent := filepath.Dir(path)
	same, known := m.known[parent]
	if !known {
		info, err := os.Stat(parent)
		same = err == nil && os.SameFile(info, m.directory)
		m.known[parent] = same
	}
	return same
}
