// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package requirement handles tests that need a program, a file or a service that the machine does not have.
package requirement // import "github.com/otelpprof/otelpprof/internal/testkit/requirement"

import (
	"os"
	"testing"
)

// Missing skips a test, and says what it needs. If CI is set, the test fails instead: a CI machine must have everything.
func Missing(tb testing.TB, format string, arguments ...any) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf(format, arguments...)
	}
	tb.Skipf(format, arguments...)
}
