// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package budgettest gives components under test a memory budget.
package budgettest // import "github.com/otelpprof/otelpprof/internal/testkit/budgettest"

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// ID is that of the extension of [NewHost].
var ID = component.MustNewID("memory_budget")

// Extension is an extension that provides a budget.
type Extension struct {
	component.StartFunc
	component.ShutdownFunc
	Budget *memory.Budget
}

// MemoryBudget is the method that [memory.Of] looks for.
func (e *Extension) MemoryBudget() *memory.Budget { return e.Budget }

// Host is a host with these extensions.
type Host map[component.ID]component.Component

// GetExtensions implements [component.Host].
func (h Host) GetExtensions() map[component.ID]component.Component { return h }

// NewHost returns a host whose only extension provides a budget.
func NewHost(b *memory.Budget) Host { return Host{ID: &Extension{Budget: b}} }

// Reserve returns a new reservation of this many bytes, or the error of Grow.
func Reserve(ctx context.Context, b *memory.Budget, bytes int64) (*memory.Reservation, error) {
	r := b.Begin()
	err := r.Grow(ctx, bytes)
	return r, err
}

// Hold reserves bytes of a budget, also those that one request cannot have.
func Hold(tb testing.TB, b *memory.Budget, bytes int64) *memory.Reservation {
	tb.Helper()
	r := b.Begin().Accept()
	require.NoError(tb, r.Grow(tb.Context(), bytes))
	return r
}
