// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/exporter/internal/pathname"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/deflate"
)

// maxAttempts limits how often a write starts again because others remove its directories or take its names.
const maxAttempts = 5

// errTaken means that another file has the name.
var errTaken = errors.New("the name is taken")

// Result describes what a write did.
type Result struct {
	// Name is the path of the file, relative to the directory.
	Name string
	// Size is the size of the file that was written. It is 0 if a file with the same pprof existed.
	Size int64
	// Renamed means that another file has the name, so that the name of this file got a suffix.
	Renamed bool
}

// Written returns whether a file was written.
func (r Result) Written() bool { return r.Size > 0 }

// Write writes a pprof as a gzipped file. name is a path with slashes that ends in [pathname.Suffix]. When Write returns nil, the
// file is on disk. A failed write can be repeated. The result is valid even if there is an error: the file can be complete, but a
// power failure could still remove it.
//
// work counts the memory. If that fails, Write returns its error, wrapped. work can be nil.
func (s *Store) Write(name string, pprof []byte, work *meter.Meter) (Result, error) {
	if !fs.ValidPath(name) {
		return Result{}, fmt.Errorf("cannot write %q: %w: not a relative path without dots", name, errBlocked)
	}
	result, err := s.writeAs(name, pprof, work)
	if errors.Is(err, errTaken) {
		result, err = s.writeAs(pathname.WithSuffix(name, sha256.Sum256(pprof)), pprof, work)
		result.Renamed = true
	}
	if errors.Is(err, errTaken) {
		err = fmt.Errorf("%w: other files have this name and the name %q", errBlocked, result.Name)
	}
	if err != nil {
		return result, fmt.Errorf("cannot write %q: %w", name, err)
	}
	return result, nil
}

// writeAs writes to this name or returns errTaken. It starts again if others change the directory meanwhile.
func (s *Store) writeAs(name string, pprof []byte, work *meter.Meter) (Result, error) {
	result := Result{Name: name}
	var d directory
	var err error
	for again, attempt := true, 0; again && attempt < maxAttempts; attempt++ {
		d = s.directory()
		result.Size, err = s.tryWrite(d, name, pprof, work)
		switch {
		case result.Written():
			again = false
		case isAbsent(err), errors.Is(err, fs.ErrClosed): // someone removed or moved a directory
			if err := s.reopen(d); err != nil {
				return result, err
			}
		default:
			again = isExist(err) // another writer was first
		}
	}
	if err != nil && ClassOf(err) == ClassOther && !result.Written() {
		if found := blockingPath(d, name); found != "" {
			err = fmt.Errorf("%w by %q, which is not a directory of this tree: %w", errBlocked, found, err)
		}
	}
	return result, err
}

// tryWrite writes the file once. It returns the size of the file, or 0 if a file with the same pprof exists.
func (s *Store) tryWrite(d directory, name string, pprof []byte, work *meter.Meter) (size int64, err error) {
	parent := path.Dir(name)
	opened, created, err := s.parents.open(d, parent, s.options.DirectoryMode)
	if err == nil {
		size, err = s.writeIn(opened, created, name, pprof, work)
	}
	switch {
	case err == nil:
		err = s.parents.syncAbove(d, parent) // An earlier write of the same pprof may have failed before this.
	case created > 0 && size == 0:
		s.parents.removeEmpty(d, parent)
	}
	return size, err
}

// writeIn writes the file to its opened directory, makes the name durable there, and closes the directory. created is how many directories
// were created for the file.
func (s *Store) writeIn(opened directory, created int64, name string, pprof []byte, work *meter.Meter) (int64, error) {
	defer opened.Close()
	same, err := hasPprof(opened, path.Base(name), pprof)
	switch {
	case same:
		return 0, opened.sync(".")
	case err == nil:
		return 0, errTaken
	case !isAbsent(err):
		return 0, err
	}
	temporary, size, err := s.writeTemporary(opened, pprof, work)
	if err != nil {
		return 0, err
	}
	err = s.usage.publish(opened, temporary, name, onDisk(size, created))
	if removeErr := opened.Remove(temporary); removeErr != nil && !isAbsent(removeErr) {
		s.options.OnError(fmt.Errorf("cannot remove %q before the next start: %w", path.Join(path.Dir(name), temporary), removeErr))
	}
	if err != nil {
		return 0, err
	}
	return size, opened.sync(".")
}

// writeTemporary writes the gzipped pprof to a temporary file in d and syncs it.
func (s *Store) writeTemporary(d directory, data []byte, work *meter.Meter) (name string, size int64, err error) {
	buffer := s.buffers.GetOrNew()
	defer func() { s.buffers.Put(buffer, cap(*buffer)) }()
	if *buffer, err = deflate.Append((*buffer)[:0], data, s.options.Level, work); err != nil {
		return "", 0, err
	}
	name = s.temporary()
	f, err := d.create(name, s.options.FileMode)
	if err != nil {
		return "", 0, err
	}
	if _, err = f.Write(*buffer); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		d.Remove(name) //nolint:errcheck // the first error is the cause; the next start removes the file
		return "", 0, err
	}
	return name, int64(len(*buffer)), nil
}

// giveName gives a complete file its name, unless another file has the name. The temporary name can remain. Not safe for concurrent
// use.
func giveName(d directory, temporary, name string) error {
	// A link cannot replace a file, not even that of another process. A file system without links returns an error of its own
	// choice. Then the name is checked first, and the file renamed.
	err := d.Link(temporary, name)
	if err == nil || isExist(err) {
		return err
	}
	switch _, err := d.Lstat(name); {
	case err == nil:
		return fs.ErrExist
	case !isAbsent(err):
		return err
	}
	return d.Rename(temporary, name)
}

// hasPprof returns whether the file name contains this pprof. The error [fs.ErrNotExist] means that the name is free. False without
// an error means that the name is taken by something else.
func hasPprof(d directory, name string, pprof []byte) (bool, error) {
	info, err := d.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	f, err := d.Open(name)
	if err != nil {
		if isAbsent(err) {
			return false, err
		}
		return false, nil // a file that cannot be read counts as another one
	}
	defer f.Close()
	inflated, err := gzip.NewReader(f)
	if err != nil {
		return false, nil
	}
	return equal(inflated, pprof), nil
}

// equal returns whether r contains exactly want. It reads at most one byte more than the length of want.
func equal(r io.Reader, want []byte) bool {
	var chunk [32 << 10]byte
	for {
		n, err := r.Read(chunk[:min(len(chunk), len(want)+1)])
		if n > len(want) || !bytes.Equal(chunk[:n], want[:n]) {
			return false
		}
		want = want[n:]
		if err != nil {
			return errors.Is(err, io.EOF) && len(want) == 0
		}
	}
}
