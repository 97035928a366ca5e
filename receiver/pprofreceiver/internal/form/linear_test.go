// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestLinearTime: the time grows linearly with the form.
func TestLinearTime(t *testing.T) {
	tokens := []string{" ", "\r\n", "\r\n--b", "--b", "--b ", "\r\n--b\t", "--b\r\n\r\n", "\r\n--b\r\n\r\na", "\r\n--b\r\nA: b\r\n\r\n", "\r\n--b\r\n\r\n\r\n", "-", "a"}
	for _, head := range []string{"", "--b\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=\""} {
		profiletest.CheckLinear(t, head, "\r\n--b--", tokens, func(body []byte) {
			r := NewReader(body, "b", len(body))
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
		})
	}
}
