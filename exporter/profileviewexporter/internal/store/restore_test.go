// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// numbered returns an upload with the number as its time. Its stacks are those of no other number.
func numbered(number int) Upload {
	u := upload("s", number, 200)
	u.Time, u.ID = time.Unix(int64(number), 0), [16]byte{1, byte(number >> 8), byte(number)}
	return u
}

// earlier is numbered for a profile of an earlier run, which arrived number minutes after the first of them.
func earlier(number int) Upload {
	u := numbered(number)
	u.Arrived = time.Now().Add(-time.Hour + time.Duration(number)*time.Minute)
	return u
}

// numbersOf returns the numbers of all profiles, in the order of a search.
func numbersOf(s *Store, after uint64) (numbers []int) {
	found, _ := s.Search(&Query{Service: "s", Kind: "cpu", After: after})
	for _, p := range found {
		numbers = append(numbers, int(p.Begin.Unix()))
	}
	return numbers
}

// Profiles of an earlier run are older than those that arrive meanwhile, and no profile is in the store twice.
func TestRestoreWhileOthersArrive(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, Age: 2 * time.Hour, PerSeries: 1000}, func(Reason) {})
	add(t, s, earlier(3))
	add(t, s, numbered(4))
	add(t, s, earlier(2))
	add(t, s, numbered(1)) // sent again after the restart
	assert.Nil(t, must.Get(s.Add(earlier(1), nil))(t))
	add(t, s, earlier(0))
	assert.Equal(t, []int{0, 2, 3, 4, 1}, numbersOf(s, 0))
	assert.Equal(t, []int{4, 1}, numbersOf(s, FirstSequence), "of this run")
	all, _ := s.Search(&Query{})
	for _, p := range all {
		sum := int64(0)
		for sample := range p.Samples.All {
			sum += sample.Values[0]
		}
		assert.EqualValues(t, 200*201/2, sum)
	}
}

// The oldest are evicted first, and what would be evicted at once ends a restore.
func TestRestoreUntilFull(t *testing.T) {
	const limit = 1 << 20
	evicted := map[Reason]int{}
	s := New(Limits{Memory: limit, PerSeries: 1000}, func(r Reason) { evicted[r]++ })
	oldest := 1000
	for ; ; oldest-- {
		p, err := s.Add(earlier(oldest), nil)
		if err != nil {
			require.ErrorIs(t, err, ErrFull)
			assert.Nil(t, p)
			break
		}
		require.NotNil(t, p)
		_, memory := s.Held()
		require.LessOrEqual(t, memory, int64(limit))
	}
	all := numbersOf(s, 0)
	assert.Greater(t, len(all), 5)
	assert.Equal(t, 1000, all[len(all)-1], "the newest stays")
	assert.IsIncreasing(t, all)

	for number := range 500 {
		add(t, s, numbered(number+1001))
		_, memory := s.Held()
		require.LessOrEqual(t, memory, int64(limit))
		all = numbersOf(s, 0)
		require.IsIncreasing(t, all)
		require.Equal(t, number+1001, all[len(all)-1], "the oldest was evicted")
	}
	assert.Greater(t, s.front().Sequence, uint64(FirstSequence), "none is of an earlier run")
	assert.Zero(t, evicted[ReasonSeries])
	assert.Greater(t, all[0], 1001)
}

// A full series keeps what is in it, and takes nothing that is older.
func TestRestoreFullSeries(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 3}, func(Reason) {})
	add(t, s, numbered(9))
	add(t, s, earlier(8))
	add(t, s, earlier(7))
	assert.Nil(t, must.Get(s.Add(earlier(6), nil))(t))
	assert.Equal(t, []int{7, 8, 9}, numbersOf(s, 0))
	add(t, s, numbered(10))
	assert.Equal(t, []int{8, 9, 10}, numbersOf(s, 0))
	s.Expire()
	profiles, _ := s.Held()
	assert.EqualValues(t, 3, profiles)
}

// Restored profiles expire before those of this run, and leave nothing.
func TestRestoredExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Limits{Memory: 1 << 30, Age: 2 * time.Hour, PerSeries: 1000}, func(Reason) {})
		for number := 10; number > 0; number-- {
			add(t, s, earlier(number))
		}
		add(t, s, numbered(11))
		time.Sleep(time.Hour + 5*time.Minute + time.Second)
		s.Expire()
		assert.Equal(t, []int{6, 7, 8, 9, 10, 11}, numbersOf(s, 0))
		time.Sleep(time.Hour)
		s.Expire()
		profiles, memory := s.Held()
		assert.Zero(t, profiles)
		assert.Zero(t, memory)
		assert.Empty(t, s.blocks)
	})
}

// Once a profile of an earlier run was evicted for memory, no older one takes its place, however small it is.
func TestRestoreLeavesNoGap(t *testing.T) {
	s := New(Limits{Memory: 512 << 10, PerSeries: 1000}, func(Reason) {})
	large := upload("s", 1, 1500)
	large.Arrived = time.Now().Add(-time.Minute)
	add(t, s, large)
	for number := 0; s.order.Len() == number+1; number++ {
		add(t, s, numbered(number))
	}
	small := upload("s", 2, 1)
	small.Arrived = time.Now().Add(-time.Hour)
	_, err := s.Add(small, nil)
	require.ErrorIs(t, err, ErrFull)
}

// The lists do not keep what a full series evicts, also while a profile of another series is the oldest.
func TestEvictedAreForgotten(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 3}, func(Reason) {})
	first := earlier(0)
	first.Type = "other"
	add(t, s, first)
	for number := range 1000 {
		add(t, s, numbered(number))
	}
	assert.Equal(t, []int{997, 998, 999}, numbersOf(s, 0)[:3])
	profiles, _ := s.Held()
	assert.EqualValues(t, 4, profiles)
	assert.Equal(t, 4, s.order.Len())
}

// The head of a profile uses what is reserved, also where each of many sample types repeats a long period type.
func TestHeadMemory(t *testing.T) {
	for _, part := range []string{"a", "\x00", "\xff"} {
		long := strings.Repeat(part, 64<<10)
		for name, made := range map[string]func() (b []byte, strings []string){
			"types": func() (b []byte, strings []string) {
				strings = []string{"", "cpu", long}
				for range 100 {
					strings = append(strings, "type"+strconv.Itoa(len(strings)))
					b = pprofwire.AppendSampleType(b, pprofwire.ValueType{Type: uint32(len(strings) - 1), Unit: 1})
				}
				return pprofwire.AppendPeriodType(b, pprofwire.ValueType{Type: 2, Unit: 1}), strings
			},
			"comments": func() (b []byte, strings []string) {
				b = pprofwire.AppendSampleType(nil, pprofwire.ValueType{Type: 1, Unit: 1})
				return pprofwire.AppendHeader(b, pprofwire.Header{Comments: slices.Repeat([]uint32{1}, 100_000)}), []string{"", part}
			},
			"texts": func() (b []byte, strings []string) {
				b = pprofwire.AppendSampleType(nil, pprofwire.ValueType{Type: 1, Unit: 1})
				return pprofwire.AppendHeader(b, pprofwire.Header{DropFrames: 1, KeepFrames: 1, DocURL: 1}), []string{"", long}
			},
		} {
			raw, all := made()
			for _, one := range all {
				raw = pprofwire.AppendString(raw, one)
			}
			u := upload("s", 0, 1)
			u.Pprof = raw
			s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
			memorytest.CheckCovered(t, func(reserve func(int64) error) error {
				_, err := s.Add(u, meter.New(0, reserve))
				return err
			})
			if t.Failed() {
				t.Fatalf("%s of %q", name, part)
			}
		}
	}
}

// What is counted for a block never falls while it has profiles, in whatever order they are settled.
func TestBlockNeverCountsLess(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 3}, func(Reason) {})
	p := add(t, s, numbered(1))
	_, before := s.Held()
	s.mu.Lock()
	s.settle(p.Block, p.Block.bytes/2)
	s.mu.Unlock()
	_, after := s.Held()
	assert.Equal(t, before, after)
}
