// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed says that the payload breaks its format. The text says where.
	ErrMalformed = errors.New("malformed profile")
	// ErrTooLarge says that a limit was exceeded. The text names it.
	ErrTooLarge = errors.New("profile exceeds a limit")
)

// Malformed returns an [ErrMalformed] that says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an [ErrTooLarge] that names the limit.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}
