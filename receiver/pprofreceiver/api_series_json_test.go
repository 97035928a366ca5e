// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestSeriesJSONLinearTime: the time grows linearly with the message.
func TestSeriesJSONLinearTime(t *testing.T) {
	tokens := []string{
		" ", "{},", "[],", `\u0061`, `\/`, "A", "=", `{"labels":[{}]},`, `{"labels":[{"name":"a","value":"b"}],"samples":[{"rawProfile":"AAAA"}]},`,
		`{"name":"a"},`, `{"rawProfile":"AA="},`, `{"raw\u0050rofile":"AA\/="},`,
	}
	for _, head := range []string{"{", `{"series":[`, `{"series":[{"samples":[`, `{"series":[{"labels":[`, `{"series":[{"samples":[{"rawProfile":"`, `{"series":[{"labels":[{"name":"`} {
		profiletest.CheckLinear(t, head, `"}]}]}`, tokens, func(message []byte) {
			_, _ = pushMessage.readJSON(message, 1000, nil)
		})
	}
}

// TestSeriesJSONContinues: the caller can end the reading of a message, also of one without labels.
func TestSeriesJSONContinues(t *testing.T) {
	message := []byte(`{"other":[` + strings.Repeat("1,", 1<<20) + `1]}`)
	ended := errors.New("the request has ended")
	calls := 0
	_, err := pushMessage.readJSON(message, 1, meter.New(0, func(int64) error {
		if calls++; calls > 2 {
			return ended
		}
		return nil
	}))
	require.Equal(t, ended, err)
}
