// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"errors"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// The classes of errors that [Decoder.Decode] and [Encoder.All] return. Test for them with errors.Is. All except
// ErrNotReserved are permanent.
var (
	// ErrMalformed reports that the payload violates the format. The text names the field and the invalid number.
	ErrMalformed = pprofwire.ErrMalformed
	// ErrTooLarge reports that a limit is exceeded. The text names the limit, its value and the number that exceeds it.
	ErrTooLarge = pprofwire.ErrTooLarge
	// ErrNotReserved reports that memory for a message could not be reserved. Only [Encoder.AllReserving] returns it. It
	// is the only class that is retryable.
	ErrNotReserved = errors.New("memory not reserved")
	// ErrNotPprof reports that the payload has another format: one of the older text or binary formats of profiles.
	ErrNotPprof = errors.New("not a pprof in profile.proto form")
	// ErrRecording reports that the payload is a recording of JDK Flight Recorder, which translator/jfr decodes.
	ErrRecording = errors.New("not a pprof but a JFR recording")
)
