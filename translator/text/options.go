// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package text has the options and the errors of the translators in its folder, which read texts and JSON.
package text // import "github.com/otelpprof/otelpprof/translator/text"

import (
	"errors"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The classes of errors that the decoders of texts return, beside the errors of the source. Test for them with errors.Is.
var (
	// ErrMalformed reports that the payload violates the format. The error has the position: line and column, or byte, or the number
	// of the profile and its event.
	ErrMalformed = errors.New("malformed profile")
	// ErrTooLarge reports that a limit is exceeded. The error names the limit, its value and the number that exceeds it.
	ErrTooLarge = errors.New("profile exceeds a limit")
)

// Options configure a translator. The zero value is the default.
type Options struct {
	// Limits are the limits of the payload. A value of 0 or less means the default.
	Limits pprof.Limits
	// KeepGeneratedNames keeps the addresses and counters in the names of classes that a JVM generates, such as lambdas and proxies.
	// By default, _ replaces them.
	KeepGeneratedNames bool
	// IncludeOriginalPayload copies the payload, as it was passed to Decode, into each profile.
	IncludeOriginalPayload bool
}
