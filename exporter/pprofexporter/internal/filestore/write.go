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

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pathname"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxAttempts bounds how often a write begins anew because others remove directories or take names under it.
const maxAttempts = 5

// errTaken says that something else stands at a name.
var errTaken = errors.New("the name is taken")

// Result tells what a write did.
type Result struct {
	// Name is where the pprof is now, relative to the directory.
	Name string
	// Size is that of the file that was written. Zero if the pprof was there already.
	Size int64
	// Renamed says that another file stood at the name, so that this one's got a suffix.
	Renamed bool
}

// Written tells whether a file was made.
func (r Result) Written() bool { return r.Size > 0 }

// Write stores a pprof, gzipped, under name: a path with slashes that ends in [pathname.Suffix]. When it returns nil the
// file is on disk. A write that failed may be repeated: it goes on where it was. Result tells what was done also when
// there is an error, which can be: a file is there, but not yet safe from a power cut.
//
// reserve is asked before memory is taken, with all bytes that the write then takes; nil asks nobody. Its error ends the
// write and is part of the error returned.
func (s *Store) Write(name string, pprof []byte, reserve func(bytes int64) error) (Result, error) {
	if !fs.ValidPath(name) {
		return Result{}, fmt.Errorf("cannot write %q: %w: no relative path without dots", name, ErrBlocked)
	}
	result, err := s.writeAs(name, pprof, reserve)
	if errors.Is(err, errTaken) {
		result, err = s.writeAs(pathname.WithSuffix(name, sha256.Sum256(pprof)), pprof, reserve)
		result.Renamed = true
	}
	if errors.Is(err, errTaken) {
		err = fmt.Errorf("%w: other files stand there and at %q", ErrBlocked, result.Name)
	}
	if err != nil {
		return result, fmt.Errorf("cannot write %q: %w", name, err)
	}
	return result, nil
}

// writeAs writes to this name or returns errTaken. It begins anew as long as others interfere.
func (s *Store) writeAs(name string, pprof []byte, reserve func(bytes int64) error) (Result, error) {
	result := Result{Name: name}
	var d directory
	var err error
	for again, attempt := true, 0; again && attempt < maxAttempts; attempt++ {
		d = s.directory()
		result.Size, err = s.tryWrite(d, name, pprof, reserve)
		switch {
		case result.Written():
			again = false
		case isAbsent(err): // someone removes directories
			if err := s.reopen(d); err != nil {
				return result, err
			}
		default:
			again = isExist(err) // another writer was first
		}
	}
	if err != nil && ClassOf(err) == ClassOther && !result.Written() {
		if found := blocker(d, name); found != "" {
			err = fmt.Errorf("%w by %q, which is no directory of this tree: %w", ErrBlocked, found, err)
		}
	}
	return result, err
}

// tryWrite returns the size of the file that it made, 0 if there was nothing to do.
func (s *Store) tryWrite(d directory, name string, pprof []byte, reserve func(bytes int64) error) (int64, error) {
	parent := path.Dir(name)
	same, err := holds(d, name, pprof)
	switch {
	case same:
		return 0, d.Sync(parent) // an earlier write may have failed between name and sync
	case err == nil:
		return 0, errTaken
	case !isAbsent(err):
		return 0, err
	}
	temporary, size, err := s.writeTemporary(d, parent, pprof, reserve)
	if err != nil {
		return 0, err
	}
	err = s.holdings.publish(name, size, func() error { return giveName(d, temporary, name) })
	if removeErr := d.Remove(temporary); removeErr != nil && !isAbsent(removeErr) {
		s.options.Trouble(fmt.Errorf("cannot remove %q, the next start will: %w", temporary, removeErr))
	}
	if err != nil {
		return 0, err
	}
	return size, d.Sync(parent)
}

// writeTemporary writes the gzipped pprof to a temporary file, which is on disk when it returns.
func (s *Store) writeTemporary(
	d directory, parent string, data []byte, reserve func(bytes int64) error,
) (name string, size int64, err error) {
	buffer := s.buffers.Get()
	if buffer == nil {
		buffer = new([]byte)
	}
	defer func() { s.buffers.Put(buffer, cap(*buffer)) }()
	if *buffer, err = pprof.AppendGzipReserving((*buffer)[:0], data, s.options.Level, reserve); err != nil {
		return "", 0, err
	}
	name = s.temporary(parent)
	f, err := d.Create(name, s.options.FileMode)
	if isAbsent(err) {
		if err = makeDirectories(d, parent, s.options.DirectoryMode); err == nil {
			f, err = d.Create(name, s.options.FileMode)
		}
	}
	if err != nil {
		return "", 0, err
	}
	if err := fill(f, *buffer); err != nil {
		d.Remove(name) //nolint:errcheck // the first error says more; the next start removes what is left
		return "", 0, err
	}
	return name, int64(len(*buffer)), nil
}

// fill writes, syncs and closes a file.
func fill(f file, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// giveName gives a finished file its name, unless something has that name. The temporary name may stay. Not safe for
// concurrent use.
func giveName(d directory, temporary, name string) error {
	// A link cannot replace a file, not even one of another process. Where the file system has no links, which each says
	// in its own way, a look must do.
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

// holds tells whether the file at name is one that holds this pprof. An error that it is absent means that the name is
// free; nil and false that something else is there.
func holds(d directory, name string, pprof []byte) (bool, error) {
	info, err := d.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	f, err := d.Open(name)
	if err != nil {
		if isAbsent(err) {
			return false, err
		}
		return false, nil // it cannot be read, so it cannot be shown to be the same
	}
	defer f.Close()
	inflated, err := gzip.NewReader(f)
	if err != nil {
		return false, nil
	}
	return equal(inflated, pprof), nil
}

// equal tells whether r yields want and then ends. It reads at most one byte more than want has.
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
