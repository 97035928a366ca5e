// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import "errors"

// The classes of errors that [Decoder.Decode] returns; test with errors.Is. All are permanent: the same payload fails
// again.
var (
	// ErrMalformed: the payload breaks the format. The text names the field and the number that is wrong.
	ErrMalformed = errors.New("malformed pprof")
	// ErrTooLarge: a limit was exceeded. The text names the limit, its value and what was found.
	ErrTooLarge = errors.New("pprof exceeds a limit")
	// ErrNotPprof: the payload is something else, such as one of the older text formats.
	ErrNotPprof = errors.New("not a pprof in profile.proto form")
)
