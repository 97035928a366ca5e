// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"
)

// The classes of errors of [Decoder.Decode], for errors.Is. Both are permanent: the same recording never succeeds.
var (
	// ErrMalformed says that the recording violates the format.
	ErrMalformed = errors.New("malformed JFR recording")
	// ErrTooLarge says that the recording exceeds a limit.
	ErrTooLarge = errors.New("JFR recording exceeds a limit")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func tooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}
