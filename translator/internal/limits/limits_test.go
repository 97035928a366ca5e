// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithDefaults(t *testing.T) {
	type some struct {
		A, B, C int
		_       struct{}
	}
	assert.Equal(t, some{A: 1, B: 20, C: 30}, WithDefaults(some{A: 1, C: -1}, some{A: 10, B: 20, C: 30}))
	assert.Equal(t, some{A: 1, B: highest, C: 30}, WithDefaults(some{A: 1, B: math.MaxInt}, some{A: 10, B: 20, C: 30}))
}
