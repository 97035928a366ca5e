// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package datadog

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestLinearTime: the time grows linearly with the event and with its tags.
func TestLinearTime(t *testing.T) {
	for _, head := range []string{"{", `{"start":"`, `{"tags_profiler":"`, `{"a":[`} {
		profiletest.CheckLinear(t, head, `"}`, []string{" ", `\u0061`, "a:b,", ",", ":", "[", "{},", "1,", `"tags_profiler":"a:b",`, "\xff"}, func(event []byte) {
			_, _ = ParseEvent(event)
			_, _ = AppendTags(nil, string(event))
		})
	}
}
