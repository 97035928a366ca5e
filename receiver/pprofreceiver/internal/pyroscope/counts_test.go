// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCounts(t *testing.T) {
	for _, test := range []struct {
		app, units, rate, aggregation string
		want                          Counts
	}{
		{app: "shop", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "shop", rate: "0", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "my.shop", units: "samples", rate: "1000", want: Counts{App: "my.shop", Type: "cpu", Unit: "nanoseconds", Period: 1_000_000}},
		{app: "my.shop.cpu", rate: "11", want: Counts{App: "my.shop", Type: "cpu", Unit: "nanoseconds", Period: 90_909_090}},
		{app: "shop.cpu", units: "nanoseconds", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds"}},
		{app: "shop.wall", want: Counts{App: "shop", Type: "wall", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "shop.itimer", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", ProfileName: "itimer", Period: 10_000_000}},
		{app: "shop.alloc_objects", units: "objects", rate: "100", want: Counts{App: "shop", Type: "alloc_objects", Unit: "count"}},
		{app: "shop.inuse_space", want: Counts{App: "shop", Type: "inuse_space", Unit: "bytes"}},
		{app: "shop.mutex_duration", units: "lock_nanoseconds", want: Counts{App: "shop", Type: "delay", Unit: "nanoseconds", ProfileName: "mutex"}},
		{app: "shop.block_count", want: Counts{App: "shop", Type: "contentions", Unit: "count", ProfileName: "block"}},
		{app: "shop.goroutines", aggregation: "average", want: Counts{App: "shop", Type: "goroutine", Unit: "count"}},
		{app: "shop", units: "bytes", want: Counts{App: "shop", Type: "alloc_space", Unit: "bytes"}},
		{app: "shop", units: "bytes", aggregation: "average", want: Counts{App: "shop", Type: "inuse_space", Unit: "bytes"}},
		{app: "shop", units: "objects", aggregation: "average", want: Counts{App: "shop", Type: "inuse_objects", Unit: "count"}},
		{app: ".cpu", want: Counts{App: ".cpu", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
	} {
		got, err := ParseCounts(test.app, test.units, test.rate, test.aggregation)
		require.NoError(t, err)
		assert.Equal(t, test.want, got, "%+v", test)
	}
	for _, test := range []struct{ app, units, rate, want string }{
		{app: "shop", units: "parsecs", want: `units "parsecs" is not known`},
		{app: "shop", rate: "fast", want: `sampleRate "fast" is not a whole number`},
		{app: "shop.cpu", rate: "-5", want: `sampleRate "-5"`},
		{app: "shop.cpu", rate: "1000000001", want: "up to 1000000000"},
	} {
		_, err := ParseCounts(test.app, test.units, test.rate, "")
		require.ErrorContains(t, err, test.want)
	}
}
