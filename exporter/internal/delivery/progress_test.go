// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// TestNoMemoryForACopy: without memory for a copy, the whole request is retried.
func TestNoMemoryForACopy(t *testing.T) {
	const size = 8 << 20
	b := memory.New(size, time.Millisecond)
	full := budgettest.Hold(t, b, size)
	defer full.Release()
	ctx := memory.NewContext(t.Context(), full)
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	_, _, err := deliverTo(ctx, pd, failing("b"))
	assert.Equal(t, errDisk, err)
	progress := Begin(ctx, pd)
	defer progress.Release()
	progress.Done(Position{})
	assert.Equal(t, errDisk, progress.End(ctx, silent, errDisk))
	taken, _ := b.Used()
	assert.Equal(t, int64(size), taken)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
