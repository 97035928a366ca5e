// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBegin(t *testing.T) {
	Begin(t.Context()) // does nothing
	told := 0
	ctx := NewContext(t.Context(), func() { told++ })
	assert.Zero(t, told)
	Begin(ctx)
	assert.Equal(t, 1, told)
}
