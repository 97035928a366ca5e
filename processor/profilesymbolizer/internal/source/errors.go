// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrTooLarge says that a binary exceeds a limit.
var ErrTooLarge = errors.New("the binary is too large")

// ErrBusy says that others use the memory that the index of a binary needs.
var ErrBusy = errors.New("there is no memory for the index now")

// errUnusable says that a file will be as unusable the next time.
var errUnusable = errors.New("cannot make an index of the file")

var errForgotten = errors.New("the binary was forgotten meanwhile")

var errNoSymbols = errors.New("the binary has no symbols")

// unusable marks the error of a file as one of its content, unless the system cannot read it, or cannot write its index.
func unusable(err error) error {
	if _, ofSystem := errors.AsType[*fs.PathError](err); ofSystem {
		return err
	}
	return fmt.Errorf("%w: %w", errUnusable, err)
}

// weight orders the results of files and sources: of several, the heaviest one says what a later search can find.
func weight(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNotFound), errors.Is(err, errOther):
		return 1
	case errors.Is(err, errNoSymbols):
		return 2
	case errors.Is(err, errUnusable) && !errors.Is(err, ErrBusy):
		return 3
	}
	return 4
}

// graver returns the heavier one of two errors, or the first one.
func graver(first, second error) error {
	if weight(second) > weight(first) {
		return second
	}
	return first
}

// lasts reports whether the next search will have the same result, unless there are other files.
func lasts(err error) bool { return weight(err) <= weight(errUnusable) }

// resultOf returns the result of a search that ended with an error, or nil.
func resultOf(err error) Result {
	switch weight(err) {
	case weight(nil):
		return Found
	case weight(ErrNotFound):
		return Missing
	case weight(errNoSymbols):
		return NoSymbols
	}
	return Failed
}
