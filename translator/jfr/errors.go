// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

// The classes of errors of [Decoder.Decode], for errors.Is. Both are permanent: the same recording never succeeds.
var (
	// ErrMalformed says that the recording violates the format.
	ErrMalformed = reader.ErrMalformed
	// ErrTooLarge says that the recording exceeds a limit.
	ErrTooLarge = reader.ErrTooLarge
)

// Magic is the start of every uncompressed recording.
const Magic = reader.Magic

// inflateError wraps an error of decompression with its class.
func inflateError(err error) error {
	if errors.Is(err, inflate.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
