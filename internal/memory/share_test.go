// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestShare: large requests fill seven eighths of a share, ordinary ones fifteen sixteenths, small ones the whole.
func TestShare(t *testing.T) {
	var s Share
	s.Limit(New(3200, time.Second), 800) // 100 bytes are ordinary, 25 are small.
	assert.True(t, s.Fits(700))
	assert.False(t, s.Fits(701))
	assert.False(t, s.Use(700))
	assert.False(t, s.Fits(51))
	assert.True(t, s.Fits(50))
	assert.False(t, s.Use(50))
	assert.False(t, s.Fits(30))
	assert.True(t, s.Fits(25))
	assert.False(t, s.Use(50))
	assert.False(t, s.Fits(1))
	assert.True(t, s.Use(1), "above the share")
	assert.False(t, s.Use(-1))
	assert.EqualValues(t, 800, s.Used())
}
