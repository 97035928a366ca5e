// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestLinearTime: the time grows linearly with the text.
func TestLinearTime(t *testing.T) {
	tokens := []string{" ", "\n", "1,", "1", "-1.5e3,", "null,", "[],", "[[[]]],", "{},", `{"a":[{}]},`, `"a",`, `"\\\"",`, "a", `\`, `\\`, `"`, "["}
	for _, head := range []string{"", "[", `"`, `{"a":`, "[1.", "[1e"} {
		profiletest.CheckLinear(t, head, `"]`, tokens, func(text []byte) {
			s := Scanner{Text: text, Malformed: errMalformed}
			_ = s.Skip()
		})
	}
}
