// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/profiletest"
)

// TestJSONLinearTime: the time grows linearly with the message.
func TestJSONLinearTime(t *testing.T) {
	tokens := []string{
		" ", "{},", "[],", `\u0061`, `\/`, "A", "=", `{"labels":[{}]},`, `{"labels":[{"name":"a","value":"b"}],"samples":[{"rawProfile":"AAAA"}]},`,
		`{"name":"a"},`, `{"rawProfile":"AA="},`, `{"raw\u0050rofile":"AA\/="},`,
	}
	for _, head := range []string{"{", `{"series":[`, `{"series":[{"samples":[`, `{"series":[{"labels":[`, `{"series":[{"samples":[{"rawProfile":"`, `{"series":[{"labels":[{"name":"`} {
		profiletest.CheckLinear(t, head, `"}]}]}`, tokens, func(message []byte) {
			_, _ = PushRequest.ReadJSON(message, Limits{MaxSeries: 1000, MaxProfiles: 1000})
		})
	}
}
