// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListSearchesAndSorts(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 20, PerSeries: 10})
	for i, service := range []string{"Cart", "checkout", "search", "other"} {
		for range i + 1 {
			require.True(t, f.add(service, "cpu", 10))
		}
	}
	names := func(q ListQuery) (names []string, more bool) {
		q.Now = f.clock
		all, more, err := f.List(t.Context(), &q)
		require.NoError(t, err)
		for _, one := range all {
			names = append(names, one.Service)
		}
		return names, more
	}
	got, _ := names(ListQuery{Search: "CA", Limit: 10})
	assert.Equal(t, []string{"Cart"}, got)
	got, _ = names(ListQuery{Search: "cpu", Limit: 10})
	assert.Len(t, got, 4, "a type is found, too")
	most := func(a, b *Series) int { return cmp.Compare(b.Profiles, a.Profiles) }
	for limit, want := range map[int][]string{1: {"other"}, 2: {"other", "search"}, 3: {"other", "search", "checkout"}} {
		got, more := names(ListQuery{Order: most, Limit: limit})
		assert.Equal(t, want, got)
		assert.True(t, more)
	}
	got, more := names(ListQuery{Order: most, Limit: 4})
	assert.Equal(t, []string{"other", "search", "checkout", "Cart"}, got)
	assert.False(t, more)
}

// Arrivals are counted over the requested time, and only for the tenant.
func TestArrivals(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 20, PerSeries: 10})
	f.clock = time.Unix(100_000, 0)
	require.True(t, f.Add(&Entry{Tenant: "other", Service: "a", Type: "cpu", Begin: f.clock, End: f.clock}))
	f.clock = f.clock.Add(time.Hour)
	for range 4 {
		f.clock = f.clock.Add(10 * time.Minute)
		require.True(t, f.add("a", "cpu", 1))
	}
	assert.Equal(t, Arrivals{0: 1, 13: 1, 26: 1, 39: 1}, f.list("")[0].Arrivals)
	some, _, _ := f.List(t.Context(), &ListQuery{From: Bound{At: f.clock.Add(-20 * time.Minute), Relative: true}, Now: f.clock, Limit: 9})
	assert.Equal(t, Arrivals{0: 1, 20: 1, 39: 1}, some[0].Arrivals)
}

func TestFacets(t *testing.T) {
	f := newFixture(Limits{Memory: 1 << 24, PerSeries: 1000})
	for i := range 300 {
		f.Add(&Entry{Service: "a", Type: "cpu", Begin: f.clock, End: f.clock, Attributes: []Attribute{
			{"id", strconv.Itoa(1000 + i)}, {"long", strings.Repeat("x", 200+i)}, {"pod", "p" + strconv.Itoa(i%2)}, {"same", "s"}, {"service.name", strconv.Itoa(i)},
		}})
	}
	f.Add(&Entry{Tenant: "other", Service: "a", Attributes: []Attribute{{"pod", "secret"}}})
	facets := f.Facets("", Bound{}, Bound{}, "service.name")
	require.Len(t, facets, 2)
	assert.Equal(t, "id", facets[0].Name)
	assert.Len(t, facets[0].Values, maxFacetValues)
	assert.True(t, facets[0].More)
	assert.Equal(t, Facet{Name: "pod", Values: []string{"p0", "p1"}}, facets[1])
	assert.Empty(t, f.Facets("", Bound{At: f.clock.Add(time.Hour)}, Bound{}, ""))
	assert.Empty(t, f.Facets("other", Bound{}, Bound{}, ""), "one value is no choice")
}
