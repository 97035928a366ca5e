// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// occupier takes memory from a budget when the store gets its first profile.
type occupier struct {
	t      *testing.T
	budget *memory.Budget
	leave  int64
	taken  *memory.Reservation
}

func (o *occupier) Added(*recent.Entry) {
	if o.taken != nil {
		return
	}
	used, _ := o.budget.Used()
	var err error
	o.taken, err = o.budget.Reserve(o.t.Context(), 0)
	require.NoError(o.t, err)
	o.taken.Accept() // else it gets only a part of the budget
	require.NoError(o.t, o.taken.Grow(o.t.Context(), o.budget.Size()-used-o.leave))
}

func (o *occupier) Removed(*recent.Entry) {}

// If memory is short for a moment after the first profile of a message, a retry loses no profile, and counts none twice.
func TestConsumeRetriesWithoutMemory(t *testing.T) {
	const size = 64 << 20
	for name, leave := range map[string]int64{"not even memory for a copy": 0, "memory for a copy": 300 << 10} {
		d := newHolding(t, 32<<20)
		d.budget = memory.New(size, time.Millisecond)
		others := &occupier{t: t, budget: d.budget, leave: leave}
		d.store.Watch(others)
		small := deliverytest.Decode(t, made(t, day, []string{"samples"}, 1), map[string]any{"service.name": "small"})
		large := hostile(1, 1, 1, 100<<10, 0, 1)
		large.TimeNanos = day.UnixNano()
		pd := deliverytest.Request(t, small, deliverytest.Decode(t, written(t, large), map[string]any{"service.name": "large"}))

		err := d.ConsumeProfiles(t.Context(), pd)
		require.ErrorIs(t, err, memory.ErrExhausted, name)
		require.False(t, consumererror.IsPermanent(err), name)
		rest, isRest := errors.AsType[xconsumererror.Profiles](err)
		assert.Equal(t, leave > 0, isRest, name)
		if isRest {
			pd = rest.Data()
			assert.Equal(t, 1, pd.ProfileCount(), "the first is in memory")
		}
		others.taken.Release()
		require.NoError(t, d.ConsumeProfiles(t.Context(), pd), name)
		for _, service := range []string{"small", "large"} {
			entries, _, err := d.store.Search(t.Context(), recent.Query{Service: service, Type: "samples"})
			require.NoError(t, err)
			assert.Len(t, entries, 1, "%s of %s", name, service)
		}
	}
}
