// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
)

// The classes of errors that [Decoder.Decode] returns; test with errors.Is. Both are permanent: the
// same recording fails again.
var (
	// ErrMalformed says that the recording breaks the format.
	ErrMalformed = outline.ErrMalformed
	// ErrTooLarge says that a limit was exceeded.
	ErrTooLarge = outline.ErrTooLarge
)

// Magic is what every recording begins with, without compression.
const Magic = outline.Magic

// inflateError gives an error of decompression its class.
func inflateError(err error) error {
	if errors.Is(err, inflate.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
