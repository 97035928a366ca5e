// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// The classes of errors that [Decoder.Decode] returns; test with errors.Is. All but ErrNotReserved are permanent: the same
// payload fails again.
var (
	// ErrMalformed says that the payload breaks the format. The text names the field and the number that is wrong.
	ErrMalformed = pprofwire.ErrMalformed
	// ErrTooLarge says that a limit was exceeded. The text names the limit, its value and what was found.
	ErrTooLarge = pprofwire.ErrTooLarge
	// ErrNotReserved says that the memory that a message needs was not to be had. It is of [Encoder.AllReserving], and is the
	// only class that is not permanent.
	ErrNotReserved = errors.New("memory not reserved")
	// ErrNotPprof says that the payload is something else: one of the older text or binary formats of profiles.
	ErrNotPprof = errors.New("not a pprof in profile.proto form")
	// ErrRecording says that the payload is a recording of JDK Flight Recorder, which translator/jfr reads.
	ErrRecording = errors.New("not a pprof but a JFR recording")
)

// inflateError gives an error of decompression its class.
func inflateError(err error) error {
	if errors.Is(err, inflate.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
