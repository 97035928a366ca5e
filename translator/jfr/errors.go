// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
)

// The classes of errors of [Decoder.Decode], for errors.Is. Both are permanent: the same recording never succeeds.
var (
	// ErrMalformed says that the recording violates the format.
	ErrMalformed = outline.ErrMalformed
	// ErrTooLarge says that the recording exceeds a limit.
	ErrTooLarge = outline.ErrTooLarge
)

// Magic is the start of every uncompressed recording.
const Magic = outline.Magic

// inflateError wraps an error of decompression with its class.
func inflateError(err error) error {
	if errors.Is(err, inflate.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
