// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// checkNames checks that each sample of the profiles of a service has its function. seeds are those of the profiles.
func checkNames(t *testing.T, s *Store, service string, seeds ...int) {
	t.Helper()
	found, _ := s.Search(&Query{Service: service})
	require.Len(t, found, len(seeds))
	for i, p := range found {
		table := p.Block.Table()
		for sample := range p.Samples.All {
			line := table.Lines.Rows[table.Locations.Rows[table.Stacks.Rows[sample.Stack].Location].Lines]
			assert.Equal(t, fmt.Sprintf("function-%d-%d", seeds[i], sample.Values[0]-1), table.Text(table.Functions.Rows[line.Function].Name))
		}
	}
}

// A profile that is refused leaves nothing in the block of its service, wherever its work ends.
func TestRefusedLeavesNothing(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
	add(t, s, upload("s", 1, 10))
	_, before := s.Held()
	const functions, limit = 2000, 3 << 20
	broken, long := upload("s", 2, functions), upload("s", 2, functions)
	broken.Pprof = pprofwire.AppendSample(broken.Pprof, pprofwire.AppendID(nil, functions+1), []int64{1}, nil)
	long.Pprof = pprofwire.AppendHeader(long.Pprof, pprofwire.Header{DocURL: functions + 3})
	long.Pprof = pprofwire.AppendString(long.Pprof, strings.Repeat("x", limit/newTextFactor))
	most := int64(0)
	refuse := func(u Upload, limit int64) {
		_, err := s.Add(u, meter.New(0, func(total int64) error {
			if total > limit {
				return ErrFull
			}
			most = max(most, total)
			return nil
		}))
		require.Error(t, err)
		_, after := s.Held()
		require.Equal(t, before, after, "of a limit of %d bytes", limit)
	}
	memorytest.CheckHeld(t, memorytest.Most, 1, func() (*Store, int64) {
		for available := int64(0); available < limit; available += limit / 100 {
			refuse(broken, available)
		}
		return s, 0
	})
	assert.Greater(t, most, int64(limit/4))
	most = 0
	refuse(long, limit)
	assert.Less(t, most, int64(limit/4), "the memory of the head is reserved before the symbols are added")
	add(t, s, upload("s", 3, functions))
	checkNames(t, s, "s", 1, 3)
}

// For a profile that can never fit, nothing is evicted, even if its service has others.
func TestTooLargeEvictsNothing(t *testing.T) {
	s := New(Limits{Memory: 1 << 20, PerSeries: 1000}, func(reason Reason) { t.Error(reason) })
	add(t, s, upload("other", 1, 500))
	add(t, s, upload("s", 2, 10))
	profiles, memory := s.Held()
	deep := upload("s", 3, 1)
	// Each byte of it is a stack, so that it gets no block of its own.
	deep.Pprof = pprofwire.AppendSample(deep.Pprof, slices.Repeat(pprofwire.AppendID(nil, 1), 60_000), []int64{1}, nil)
	require.Less(t, len(deep.Pprof), 1<<20/blockMemoryPart)
	_, err := s.Add(deep, nil)
	require.ErrorIs(t, err, ErrTooLarge)
	profilesAfter, memoryAfter := s.Held()
	assert.Equal(t, profiles, profilesAfter)
	assert.Equal(t, memory, memoryAfter)
	add(t, s, upload("s", 4, 500))
	checkNames(t, s, "s", 2, 4)
}
