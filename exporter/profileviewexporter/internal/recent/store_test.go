// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a store whose clock and evictions the test sees.
type fixture struct {
	*Store
	clock   time.Time
	evicted map[Reason]int
}

func newFixture(limits Limits) *fixture {
	f := &fixture{clock: time.Unix(1000, 0), evicted: map[Reason]int{}}
	f.Store = New(limits, func(reason Reason) { f.evicted[reason]++ })
	f.now = func() time.Time { return f.clock }
	return f
}

func (f *fixture) add(service, profileType string, size int) bool {
	return f.Add(&Entry{Service: service, Type: profileType, Compressed: make([]byte, size), Begin: f.clock, End: f.clock})
}

func (f *fixture) list(tenant string) []Series {
	all, _ := f.List(tenant, "", "", 1000)
	return all
}

func (f *fixture) count(service, profileType string) int {
	entries, _ := f.Select(Query{Service: service, Type: profileType})
	return len(entries)
}

func TestLimits(t *testing.T) {
	f := newFixture(Limits{Memory: 10_000, Age: time.Minute, PerSeries: 3})
	assert.False(t, f.add("huge", "cpu", 10_000), "alone over the limit, and nothing goes for it")
	for range 5 {
		assert.True(t, f.add("a", "cpu", 100))
	}
	assert.Equal(t, 3, f.count("a", "cpu"))
	assert.Equal(t, map[Reason]int{ReasonSeries: 2}, f.evicted)

	for i := range 4 {
		assert.True(t, f.add("b"+strconv.Itoa(i), "cpu", 2000))
		_, memory := f.Held()
		assert.LessOrEqual(t, memory, int64(10_000))
	}
	assert.Zero(t, f.count("a", "cpu"), "the oldest go first")
	assert.Equal(t, 1, f.count("b3", "cpu"))
	assert.Positive(t, f.evicted[ReasonMemory])

	f.clock = f.clock.Add(59 * time.Second)
	f.Expire()
	assert.Equal(t, 1, f.count("b3", "cpu"))
	f.clock = f.clock.Add(2 * time.Second)
	f.Expire()
	profiles, memory := f.Held()
	assert.Zero(t, profiles)
	assert.Zero(t, memory, "all that was counted is given back")
	assert.Empty(t, f.series)
	assert.Empty(t, f.list(""))
}

// TestClockJumps: the age is counted by a clock that does not jump with the time of day. Were there no such clock, one
// that was set back would keep profiles for longer, but never more of them than the other limits allow.
func TestClockJumps(t *testing.T) {
	store := New(Limits{Memory: 10_000, Age: time.Minute, PerSeries: 3}, func(Reason) {})
	e := &Entry{Service: "a", Type: "cpu", Begin: time.Unix(1, 0), End: time.Unix(1, 0)}
	require.True(t, store.Add(e))
	assert.Contains(t, e.arrived.String(), " m=", "without it, times are compared by the time of day")
	store.Expire()
	profiles, _ := store.Held()
	assert.EqualValues(t, 1, profiles, "the age of a profile does not come from its own time")

	f := newFixture(Limits{Memory: 100_000, Age: time.Minute, PerSeries: 3})
	require.True(t, f.add("a", "cpu", 100))
	f.clock = f.clock.Add(-time.Hour)
	for range 5 {
		require.True(t, f.add("a", "cpu", 100))
	}
	assert.Equal(t, 3, f.count("a", "cpu"), "the first that came is the first to go")
	f.clock = f.clock.Add(2 * time.Minute)
	f.Expire()
	assert.Zero(t, f.count("a", "cpu"))
}

func TestListAndSelect(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 20, PerSeries: 10})
	f.add("b", "cpu", 1)
	f.add("a", "heap", 2)
	f.clock = f.clock.Add(time.Hour)
	f.add("a", "cpu", 3)
	f.add("a", "heap", 4)
	f.Add(&Entry{Tenant: "other", Service: "a", Type: "cpu", CPU: true})
	list := f.list("")
	assert.Len(t, list, 3)
	assert.Equal(t, Series{Service: "a", Type: "heap", Profiles: 2, Bytes: 6, First: time.Unix(1000, 0), Last: f.clock}, list[1])
	assert.Len(t, f.list("other"), 1)
	page, more := f.List("", "", "", 2)
	assert.Equal(t, list[:2], page)
	assert.True(t, more)
	page, more = f.List("", page[1].Service, page[1].Type, 2)
	assert.Equal(t, list[2:], page)
	assert.False(t, more)
	entries, known := f.Select(Query{Service: "a"})
	assert.Empty(t, entries)
	assert.False(t, known, "no profile of CPU time")
	entries, _ = f.Select(Query{Tenant: "other", Service: "a"})
	assert.Len(t, entries, 1)
	entries, _ = f.Select(Query{Service: "a", Type: "heap", Window: time.Minute})
	assert.Len(t, entries, 1)
	entries, known = f.Select(Query{Service: "a", Type: "heap", Attributes: map[string]string{"pod": ""}})
	assert.Empty(t, entries, "an attribute that is not there is not empty")
	assert.True(t, known)
}

func TestConcurrently(t *testing.T) {
	store := New(Limits{Memory: 50_000, Age: time.Hour, PerSeries: 5}, func(Reason) {})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				store.Add(&Entry{Service: strconv.Itoa(i), Type: strconv.Itoa(j % 4), Compressed: make([]byte, j)})
				store.List("", "", "", 3)
				store.Select(Query{Service: "0", Type: "1"})
				store.Held()
			}
		})
	}
	all.Wait()
	_, memory := store.Held()
	assert.LessOrEqual(t, memory, int64(50_000))
}
