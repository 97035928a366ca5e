// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestShare: large requests fill seven eighths of a share, ordinary ones the whole.
func TestShare(t *testing.T) {
	var s Share
	s.Limit(New(3200, time.Second), 800) // 100 bytes are ordinary.
	assert.True(t, s.Fits(700))
	assert.False(t, s.Fits(701))
	assert.False(t, s.Use(700))
	assert.False(t, s.Fits(101))
	assert.True(t, s.Fits(100))
	assert.False(t, s.Use(100))
	assert.False(t, s.Fits(1))
	assert.True(t, s.Use(1), "above the share")
	assert.False(t, s.Use(-1))
	assert.EqualValues(t, 800, s.Used())
}
