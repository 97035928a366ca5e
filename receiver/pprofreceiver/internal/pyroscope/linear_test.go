// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestLinearTime: the time grows linearly with the parameter name and with sample_type_config.
func TestLinearTime(t *testing.T) {
	for _, head := range []string{"", "a{", "a{b="} {
		profiletest.CheckLinear(t, head, "}", []string{" ", "{", "}", "=", ",", ", ", "a=b,", "\xff", "a"}, func(text []byte) {
			_, _, _ = ParseName(string(text))
			_, _ = ParseTime(string(text))
		})
	}
	for _, head := range []string{"{", `{"a":{"display-name":"`} {
		profiletest.CheckLinear(t, head, `"}}`, []string{" ", `\u0061`, "a", "[", `"a":{},`, `"a":{"display-name":"b_count"},`, "1,"}, func(config []byte) {
			_, _ = ProfileName(config)
		})
	}
}
