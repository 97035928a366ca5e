// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package requirement handles tests that need a program, a file or a service that the machine does not have.
package requirement // import "github.com/otelpprof/otelpprof/internal/testkit/requirement"

import (
	"os"
	"os/exec"
	"testing"
)

// Missing skips a test, and says what it needs. If CI is set, the test fails instead: a CI machine must have everything.
func Missing(tb testing.TB, format string, arguments ...any) {
	tb.Helper()
	missing(tb, "CI", format, arguments...)
}

// MissingSymbols is [Missing] for what the tests of symbols compile and compare with. They fail if OTELPPROF_REQUIRE_SYMBOLIZERS is set.
func MissingSymbols(tb testing.TB, format string, arguments ...any) {
	tb.Helper()
	missing(tb, "OTELPPROF_REQUIRE_SYMBOLIZERS", format, arguments...)
}

// Symbolizers is [MissingSymbols] for programs that are not installed.
func Symbolizers(tb testing.TB, programs ...string) {
	tb.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			MissingSymbols(tb, "%s is not installed", program)
		}
	}
}

// missing skips a test, or lets it fail if the variable is set.
func missing(tb testing.TB, variable, format string, arguments ...any) {
	tb.Helper()
	if os.Getenv(variable) != "" {
		tb.Fatalf(format, arguments...)
	}
	tb.Skipf(format, arguments...)
}
