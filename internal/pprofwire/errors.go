// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed says that the bytes break the format.
	ErrMalformed = errors.New("malformed pprof")
	// ErrTooLarge says that a limit was exceeded.
	ErrTooLarge = errors.New("pprof exceeds a limit")
)

// Faults below the level of a field; the reader adds which field it was.
var (
	errTruncated = errors.New("the payload ends in the middle of it")
	errOverlong  = errors.New("varint of more than 64 bits")
)

// Malformed returns an [ErrMalformed] that says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an [ErrTooLarge] that names the limit.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

// inField says in which field of which message a fault was found.
func inField(message string, field int, err error) error {
	return Malformed("cannot read field %d of %s: %s", field, message, err.Error())
}

func wrongWireType(message string, field, wireType int) error {
	return Malformed("field %d of %s has wire type %d", field, message, wireType)
}
