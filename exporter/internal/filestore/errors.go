// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// errBlocked means that a file cannot be written, whatever the state of the disk: something other than a directory has the name of
// one of its directories, or the file system does not support the name or the size. A retry fails until someone removes the
// cause.
var errBlocked = errors.New("the path is blocked")

// The classes of errors of [Store.Write]. A retry can succeed after an error of any class but ClassBlocked.
const (
	// ClassOther is every other error, such as an I/O error.
	ClassOther = "other"
	// ClassFull: no space or quota is left.
	ClassFull = "full"
	// ClassDenied: the process has no permission to write, or the file system is read-only.
	ClassDenied = "denied"
	// ClassBlocked: see [errBlocked].
	ClassBlocked = "blocked"
)

// ClassOf returns the class of an error of [Store.Write] or [Open].
func ClassOf(err error) string {
	switch {
	case errors.Is(err, errBlocked), isAny(err, syscall.ENAMETOOLONG, syscall.EFBIG, syscall.EILSEQ):
		return ClassBlocked
	case isFull(err):
		return ClassFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ClassDenied
	}
	return ClassOther
}

func isAny(err error, numbers ...syscall.Errno) bool {
	return slices.ContainsFunc(numbers, func(number syscall.Errno) bool { return errors.Is(err, number) })
}

func isExist(err error) bool  { return errors.Is(err, fs.ErrExist) }
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// blockingPath returns the first parent of name that exists and is not a directory of this tree: it is a file, or a symbolic link
// that is broken or leads outside. It returns an empty string if there is none.
func blockingPath(d directory, name string) string {
	parent := path.Dir(name)
	if parent == "." {
		return ""
	}
	if found := blockingPath(d, parent); found != "" {
		return found
	}
	if _, err := d.Lstat(parent); err != nil {
		return ""
	}
	info, err := d.Stat(parent)
	if errors.Is(err, fs.ErrPermission) || err == nil && info.IsDir() {
		return ""
	}
	return parent
}
