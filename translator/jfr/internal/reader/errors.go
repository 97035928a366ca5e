// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed says that a recording breaks the format.
	ErrMalformed = errors.New("malformed JFR recording")
	// ErrTooLarge says that a limit was exceeded.
	ErrTooLarge = errors.New("JFR recording exceeds a limit")
)

// Malformed returns an ErrMalformed.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an ErrTooLarge.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

// malformed returns an error with a position in the recording.
func malformed(pos int, format string, args ...any) error {
	return Malformed("at byte %d: %s", pos, fmt.Sprintf(format, args...))
}
