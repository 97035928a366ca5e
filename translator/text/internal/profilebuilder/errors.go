// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"fmt"

	"github.com/otelpprof/otelpprof/translator/text"
)

// Malformed returns an [text.ErrMalformed] with a description of the fault.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", text.ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an [text.ErrTooLarge] for a limit that is exceeded.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", text.ErrTooLarge, what, got, limit)
}
