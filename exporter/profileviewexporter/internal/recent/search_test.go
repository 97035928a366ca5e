// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// probe is a context that calls a function when it is asked whether it has ended.
type probe struct {
	context.Context //nolint:containedctx // this is a context
	asked           func()
}

func (p probe) Err() error {
	p.asked()
	return p.Context.Err()
}

func expressionOf(t *testing.T, text string) selector.Selector {
	t.Helper()
	s, err := selector.New("pod", text, false, true)
	require.NoError(t, err)
	return s
}

// searches runs all searches by attributes, and returns their errors.
func (f *fixture) searches(ctx context.Context, wanted []selector.Selector) (errs []error) {
	_, _, err := f.Search(ctx, Query{Service: "a", Type: "cpu", Attributes: wanted})
	errs = append(errs, err)
	_, _, err = f.Search(ctx, Query{Service: "a", Attributes: wanted})
	errs = append(errs, err)
	_, _, err = f.List(ctx, &ListQuery{Attributes: wanted, Limit: 10})
	return append(errs, err)
}

func newPods(t *testing.T, values ...string) *fixture {
	t.Helper()
	f := newFixture(Limits{Memory: 1 << 24, PerSeries: 10_000})
	for _, value := range values {
		require.True(t, f.Add(&Entry{Service: "a", Type: "cpu", CPU: true, Attributes: []Attribute{{"pod", value}}}))
	}
	return f
}

// Attributes are matched while profiles can be added, and no longer after the client has left.
func TestSearchWithoutTheLock(t *testing.T) {
	f := newPods(t, "p", "q", "r")
	asked := 0
	ctx := probe{t.Context(), func() {
		asked++
		require.True(t, f.mu.TryLock(), "a profile can be added")
		f.mu.Unlock()
	}}
	for _, err := range f.searches(ctx, []selector.Selector{expressionOf(t, "p|q")}) {
		require.NoError(t, err)
	}
	assert.Equal(t, 9, asked, "for each profile of three searches")

	left, leave := context.WithCancel(t.Context())
	leave()
	for _, err := range f.searches(left, []selector.Selector{expressionOf(t, "p|q")}) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// The steps of all expressions of a request are limited. A value that returns takes no steps.
func TestSearchIsLimited(t *testing.T) {
	var equal, different []string
	for i := range 3000 {
		equal = append(equal, strings.Repeat("x", 300))
		different = append(different, strings.Repeat("x", 300)+strconv.Itoa(i))
	}
	wanted := func() []selector.Selector { return []selector.Selector{expressionOf(t, strings.Repeat("y", 400))} }
	for _, err := range newPods(t, equal...).searches(t.Context(), wanted()) {
		require.NoError(t, err)
	}
	for _, err := range newPods(t, different...).searches(t.Context(), wanted()) {
		require.ErrorIs(t, err, selector.ErrExpensive)
	}
}
