// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/selector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a store with a clock and evictions that the test can read.
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
	all, _, _ := f.List(context.Background(), &ListQuery{Tenant: tenant, Now: f.clock, Limit: 1000})
	return all
}

// search returns the result of a search without an error.
func (f *fixture) search(q Query) (entries []*Entry, known bool) {
	entries, known, _ = f.Search(context.Background(), q)
	return entries, known
}

func (f *fixture) count(service, profileType string) int {
	entries, _ := f.search(Query{Service: service, Type: profileType})
	return len(entries)
}

func TestLimits(t *testing.T) {
	f := newFixture(Limits{Memory: 10_000, Age: time.Minute, PerSeries: 3})
	assert.False(t, f.add("huge", "cpu", 10_000), "it exceeds the limit alone, and evicts nothing")
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
	assert.Zero(t, memory, "no memory is counted")
	assert.Empty(t, f.series)
	assert.Empty(t, f.list(""))
}

// TestClockJumps checks that the age uses the monotonic clock. Without one, a clock that is set back would keep profiles for
// longer, but within the other limits.
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
	assert.Equal(t, 3, f.count("a", "cpu"), "the oldest is evicted first")
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
	assert.Equal(t, Series{Service: "a", Type: "heap", Profiles: 2, Bytes: 6, First: time.Unix(1000, 0), Last: f.clock, Arrivals: Arrivals{0: 1, 39: 1}}, list[1])
	assert.Len(t, f.list("other"), 1)
	page, more, _ := f.List(t.Context(), &ListQuery{Now: f.clock, Limit: 2})
	assert.Equal(t, list[:2], page)
	assert.True(t, more)
	page, more, _ = f.List(t.Context(), &ListQuery{AfterService: page[1].Service, AfterType: page[1].Type, Now: f.clock, Limit: 2})
	assert.Equal(t, list[2:], page)
	assert.False(t, more)
	entries, known := f.search(Query{Service: "a"})
	assert.Empty(t, entries)
	assert.False(t, known, "no profile of CPU time")
	entries, _ = f.search(Query{Tenant: "other", Service: "a"})
	assert.Len(t, entries, 1)
	entries, _ = f.search(Query{Service: "a", Type: "heap", Window: time.Minute})
	assert.Len(t, entries, 1)
	entries, known = f.search(Query{Service: "a", Type: "heap", Attributes: []selector.Selector{{Key: "pod"}}})
	assert.Empty(t, entries, "an absent attribute does not match")
	assert.True(t, known)
}

func TestConcurrently(t *testing.T) {
	store := New(Limits{Memory: 50_000, Age: time.Hour, PerSeries: 5}, func(Reason) {})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				store.Add(&Entry{Service: strconv.Itoa(i), Type: strconv.Itoa(j % 4), Compressed: make([]byte, j)})
				_, _, _ = store.List(t.Context(), &ListQuery{Limit: 3})
				_, _, _ = store.Search(t.Context(), Query{Service: "0", Type: "1"})
				store.Held()
			}
		})
	}
	all.Wait()
	_, memory := store.Held()
	assert.LessOrEqual(t, memory, int64(50_000))
}

// A profile whose time is far from its arrival counts by its arrival in times that are counted back from now, and by its own
// time in absolute times.
func TestFarFromArrival(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 20, PerSeries: 10})
	f.clock = time.Unix(100_000, 0)
	year := 365 * 24 * time.Hour
	for _, end := range []time.Time{f.clock.Add(-year), f.clock.Add(year), f.clock.Add(-farFromArrival)} {
		require.True(t, f.Add(&Entry{Service: "a", Type: "cpu", Begin: end.Add(-time.Second), End: end}))
	}
	ago := func(age time.Duration) Bound { return Bound{At: f.clock.Add(-age), Relative: true} }
	count := func(q Query) int {
		q.Service, q.Type = "a", "cpu"
		entries, _ := f.search(q)
		return len(entries)
	}
	assert.Equal(t, 2, count(Query{From: ago(5 * time.Minute)}), "recent arrivals")
	assert.Equal(t, 3, count(Query{From: ago(15 * time.Minute)}))
	assert.Equal(t, 1, count(Query{Until: ago(5 * time.Minute)}), "a profile that is slightly late counts by its own time")
	assert.Equal(t, 2, count(Query{Window: time.Minute}))
	assert.Equal(t, 1, count(Query{From: Bound{At: f.clock.Add(time.Hour)}}), "absolute times use the time of the profile")
	assert.Equal(t, 1, count(Query{Until: Bound{At: f.clock.Add(-time.Hour)}}))
	list := f.list("")
	assert.Equal(t, f.clock, list[0].Last)
	assert.Equal(t, f.clock.Add(-farFromArrival-time.Second), list[0].First)
	some, _, _ := f.List(t.Context(), &ListQuery{From: ago(5 * time.Minute), Limit: 10})
	assert.Equal(t, 2, some[0].Profiles)
	none, _, _ := f.List(t.Context(), &ListQuery{From: Bound{At: f.clock.Add(2 * year)}, Limit: 10})
	assert.Empty(t, none, "a series without a profile of that time is not listed")
}

// Equal uploads count once, and again after the first is evicted.
func TestEqualUploads(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 20, Age: time.Hour, PerSeries: 10})
	add := func(change func(*Entry)) {
		e := &Entry{Tenant: "t", Service: "a", Type: "cpu", ID: [16]byte{1}, Compressed: []byte("x"), Begin: f.clock, End: f.clock}
		change(e)
		require.True(t, f.Add(e))
	}
	held := func() int64 { profiles, _ := f.Held(); return profiles }
	for range 3 {
		add(func(*Entry) {})
	}
	assert.EqualValues(t, 1, held())
	for i, change := range []func(*Entry){
		func(e *Entry) { e.ID[15] = 2 },
		func(e *Entry) { e.Tenant = "u" },
		func(e *Entry) { e.Type = "heap" },
		func(e *Entry) { e.Service = "b" },
		func(e *Entry) { e.Attributes = []Attribute{{"pod", "p"}} },
		func(e *Entry) { e.ID = [16]byte{} },
		func(e *Entry) { e.ID = [16]byte{} },
	} {
		add(change)
		assert.EqualValues(t, 2+i, held(), "another one")
	}
	f.clock = f.clock.Add(2 * time.Hour)
	f.Expire()
	assert.Zero(t, held())
	assert.Empty(t, f.known)
	add(func(*Entry) {})
	assert.EqualValues(t, 1, held())
}
