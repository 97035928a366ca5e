// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed reports that the payload violates its format. The text has the position.
	ErrMalformed = errors.New("malformed profile")
	// ErrTooLarge reports that a limit is exceeded. The text names the limit, its value and the number that exceeds it.
	ErrTooLarge = errors.New("profile exceeds a limit")
)

// Malformed returns an [ErrMalformed] with a description of the fault.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an [ErrTooLarge] for a limit that is exceeded.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}
