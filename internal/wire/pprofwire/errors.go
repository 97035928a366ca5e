// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed says that the payload is not a valid pprof.
	ErrMalformed = errors.New("malformed pprof")
	// ErrTooLarge says that the payload exceeds a limit.
	ErrTooLarge = errors.New("pprof exceeds a limit")
)

// Errors inside a field. The reader adds which field it is.
var (
	errTruncated = errors.New("the payload ends in the middle of it")
	errOverlong  = errors.New("varint of more than 64 bits")
)

// Malformed returns an error that wraps [ErrMalformed] and says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an error that wraps [ErrTooLarge] and names the limit.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

// inField adds the field and the message to an error.
func inField(message string, field int, err error) error {
	return Malformed("cannot read field %d of %s: %s", field, message, err.Error())
}

func wrongWireType(message string, field, wireType int) error {
	return Malformed("field %d of %s has wire type %d", field, message, wireType)
}
