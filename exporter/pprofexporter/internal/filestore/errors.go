// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
)

// ErrBlocked is the error of a file whose name cannot be had, whatever the state of the disk: something else stands
// where one of its directories should be, or the file system does not take the name or the size. Writing it again is
// of no use until someone clears the way.
var ErrBlocked = errors.New("the path is blocked")

// Class says what kind of failure an error of [Store.Write] is.
type Class int

// The classes. All but ClassBlocked may end by themselves or by an operator's hand.
const (
	// ClassOther is what fits no other class, such as an I/O error.
	ClassOther Class = iota
	// ClassFull: no space or quota is left.
	ClassFull
	// ClassDenied: the process may not write here, or the file system is read-only.
	ClassDenied
	// ClassBlocked is that of [ErrBlocked].
	ClassBlocked
)

// ClassOf returns the class of an error of [Store.Write] or [Open].
func ClassOf(err error) Class {
	switch {
	case errors.Is(err, ErrBlocked), isAny(err, syscall.ENAMETOOLONG, syscall.EFBIG, syscall.EILSEQ):
		return ClassBlocked
	case isFull(err):
		return ClassFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ClassDenied
	}
	return ClassOther
}

func isAny(err error, numbers ...syscall.Errno) bool {
	for _, number := range numbers {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

func isExist(err error) bool  { return errors.Is(err, fs.ErrExist) }
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// blocker returns the first of the directories that lead to name that is there and no directory of this tree: a file,
// a symbolic link that leads out of it or nowhere. Empty if there is none.
func blocker(d directory, name string) string {
	parent := path.Dir(name)
	if parent == "." {
		return ""
	}
	if found := blocker(d, parent); found != "" {
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
