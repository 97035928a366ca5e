// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestCountJSONLinearTime: the time grows linearly with the body.
func TestCountJSONLinearTime(t *testing.T) {
	tokens := []string{" ", "a", `"`, `\`, `\\`, `\"`, `\n`, `"\\",`, "{}", "[],", ","}
	for _, head := range []string{"", `"`, `{"a":"`} {
		profiletest.CheckLinear(t, head, `"}`, tokens, func(body []byte) { _, _ = CountJSON(body) })
	}
}
