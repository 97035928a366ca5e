// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"
)

// maxParents limits the number of directories that [parents] remembers. Senders choose the names of directories.
const maxParents = 10_000

// parents creates and removes the directories of files. It remembers those whose names are durable: a directory that exists may be
// the one of a writer that has not synced its name yet, or that failed to sync it. Safe for concurrent use.
type parents struct {
	// mu is locked from the creation of a directory until its name is durable, so that no other writer takes the new directory
	// for the one that had its name before.
	mu      sync.Mutex
	durable map[string]struct{}
}

// open opens a directory. If it does not exist, open creates it and its parents, and makes their names durable. It returns how many it
// created, also after an error.
func (p *parents) open(d directory, name string, mode fs.FileMode) (opened directory, created int64, err error) {
	if opened, err = d.sub(name); !isAbsent(err) {
		return opened, 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if created, err = p.createLocked(d, name, mode); err != nil {
		return nil, created, err
	}
	opened, err = d.sub(name)
	return opened, created, err
}

func (p *parents) createLocked(d directory, name string, mode fs.FileMode) (created int64, err error) {
	if name == "." {
		return 0, nil
	}
	created, err = p.createLocked(d, path.Dir(name), mode)
	if err != nil {
		return created, err
	}
	switch err := d.Mkdir(name, mode); {
	case err == nil:
		created++
		delete(p.durable, name) // someone removed the directory that had this name
	case !isExist(err):
		return created, err
	}
	return created, p.syncLocked(d, name)
}

// syncAbove makes the names of a directory and its parents durable.
func (p *parents) syncAbove(d directory, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; name != "."; name = path.Dir(name) {
		if err := p.syncLocked(d, name); err != nil {
			return err
		}
	}
	return nil
}

// syncLocked makes the name of a directory durable, unless it is.
func (p *parents) syncLocked(d directory, name string) error {
	if _, durable := p.durable[name]; durable {
		return nil
	}
	if err := d.sync(path.Dir(name)); err != nil {
		return err
	}
	if p.durable == nil || len(p.durable) >= maxParents {
		p.durable = map[string]struct{}{}
	}
	p.durable[name] = struct{}{}
	return nil
}

// removeEmpty removes a directory and its parents until one is not empty.
func (p *parents) removeEmpty(d directory, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeEmptyLocked(d, name)
}

// removeEmptyLocked returns how many directories it removed.
func (p *parents) removeEmptyLocked(d directory, name string) (removed int64) {
	for ; name != "."; name = path.Dir(name) {
		info, err := d.Lstat(name)
		if isAbsent(err) {
			continue
		}
		if err != nil || !info.IsDir() || d.Remove(name) != nil {
			return removed
		}
		delete(p.durable, name)
		removed++
	}
	return removed
}

// reset forgets all directories, because another directory of the store took the place of theirs.
func (p *parents) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.durable = nil
}

// directory has the operations that the store does in its directory. Names are relative and have slashes. No name leads outside
// of the directory.
type directory interface {
	create(name string, mode fs.FileMode) (file, error)
	Open(name string) (*os.File, error)
	OpenRoot(name string) (*os.Root, error)
	Mkdir(name string, mode fs.FileMode) error
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Link(from, to string) error
	Rename(from, to string) error
	Remove(name string) error
	// sync makes the names in a directory durable.
	sync(name string) error
	// sub opens a directory, so that operations in it need not look up its path.
	sub(name string) (directory, error)
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

func openRoot(name string) (directory, error) { return newDirectory(os.OpenRoot(name)) }

func newDirectory(root *os.Root, err error) (directory, error) {
	if err != nil {
		return nil, err
	}
	return rootDirectory{root}, nil
}

// sub opens a directory.
func (d rootDirectory) sub(name string) (directory, error) {
	return newDirectory(d.OpenRoot(name))
}

// create creates a file. It fails if the name exists, even as a symbolic link.
func (d rootDirectory) create(name string, mode fs.FileMode) (file, error) {
	return d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (d rootDirectory) sync(name string) error {
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

// unsyncedDirectory is a directory whose files and names need not survive a failure of the system.
type unsyncedDirectory struct{ directory }

func openUnsynced(name string) (directory, error) {
	d, err := openRoot(name)
	return unsyncedDirectory{d}, err
}

func (d unsyncedDirectory) sub(name string) (directory, error) {
	opened, err := d.directory.sub(name)
	return unsyncedDirectory{opened}, err
}

func (d unsyncedDirectory) create(name string, mode fs.FileMode) (file, error) {
	f, err := d.directory.create(name, mode)
	return unsyncedFile{f}, err
}

func (unsyncedDirectory) sync(string) error { return nil }

type unsyncedFile struct{ file }

func (unsyncedFile) Sync() error { return nil }
