// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/translator/internal/limits"
)

func TestWithDefaults(t *testing.T) {
	type some struct {
		A, B, C int
		_       struct{}
	}
	assert.Equal(t, some{A: 1, B: 20, C: 30}, limits.WithDefaults(some{A: 1, C: -1}, some{A: 10, B: 20, C: 30}))
	assert.Equal(t, some{A: 1, B: limits.Highest, C: 30}, limits.WithDefaults(some{A: 1, B: math.MaxInt}, some{A: 10, B: 20, C: 30}))
}
