// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPairSet(t *testing.T) {
	t.Parallel()
	var s PairSet
	for range 2 { // the second time it uses the same memory
		const n = 40 // for n × n pairs
		s.Reset(n * n)
		for _, added := range []bool{true, false} {
			for a := range int32(n) {
				for b := range int32(n) {
					assert.Equal(t, added, s.Add(a, b), "%d, %d", a, b)
				}
			}
		}
	}
	assert.Equal(t, int64(8*4096), s.Kept())
}
