// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// TestNoMemoryForACopy: without memory for a copy, the whole request is retried.
func TestNoMemoryForACopy(t *testing.T) {
	const size = 8 << 20
	b := memory.New(size, time.Millisecond)
	full, err := b.Reserve(t.Context(), 0)
	require.NoError(t, err)
	full.Accept()
	require.NoError(t, full.Grow(t.Context(), size))
	defer full.Release()
	ctx := memory.NewContext(t.Context(), full)
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	_, _, err = deliverTo(ctx, pd, failing("b"))
	assert.Equal(t, errDisk, err)
	progress := Begin(ctx, pd)
	defer progress.Release()
	progress.Done(Position{})
	assert.Equal(t, errDisk, progress.End(ctx, silent, errDisk))
	taken, _ := b.Used()
	assert.Equal(t, int64(size), taken)
}
