// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/budget"
)

// TestNoMemoryForACopy: without memory for a copy, the whole request is retried.
func TestNoMemoryForACopy(t *testing.T) {
	const size = 8 << 20
	b := budget.New(size, time.Millisecond)
	full, err := b.Reserve(t.Context(), size)
	require.NoError(t, err)
	defer full.Release() // keeps it reachable: the garbage collector would release it
	ctx, working := (&Memory{Budget: b}).Begin(t.Context())
	defer working.Release()
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	_, _, err = deliverTo(ctx, pd, failing("b"))
	assert.Equal(t, errDisk, err)
	progress := NewProgress(pd)
	progress.Done(Position{})
	assert.Equal(t, errDisk, progress.End(ctx, silent, errDisk))
	taken, _ := b.Used()
	assert.Equal(t, int64(size), taken)
}
