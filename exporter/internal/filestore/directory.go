// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"io/fs"
	"os"
	"runtime"
)

// directory has the operations that the store does in its directory. Names are relative and have slashes. No name leads outside
// of the directory.
type directory interface {
	Create(name string, mode fs.FileMode) (file, error)
	Open(name string) (*os.File, error)
	OpenRoot(name string) (*os.Root, error)
	Mkdir(name string, mode fs.FileMode) error
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Link(from, to string) error
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes the names in a directory durable.
	Sync(name string) error
	Close() error
}

// file has the operations on a file that the store writes.
type file interface {
	Write(data []byte) (int, error)
	Sync() error
	Close() error
}

// rootDirectory is a directory in a file system.
type rootDirectory struct{ *os.Root }

func openRoot(name string) (directory, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return rootDirectory{root}, nil
}

// Create creates a file. It fails if the name exists, even as a symbolic link.
func (d rootDirectory) Create(name string, mode fs.FileMode) (file, error) {
	return d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (d rootDirectory) Sync(name string) error {
	if runtime.GOOS == "windows" { // Windows cannot sync a directory: the system decides when a name is on disk
		return nil
	}
	opened, err := d.Open(name)
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.Sync()
}
