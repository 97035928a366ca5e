// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// TestWrongTimes: the time of an event that is far from those of the others does not move the profile.
func TestWrongTimes(t *testing.T) {
	const (
		noon   = int64(1_700_000_000_000)
		minute = int64(60_000)
		hour   = 60 * minute
	)
	for _, test := range []struct {
		name     string
		times    []int64
		record   int64
		duration int64
		want     []int64
		ignored  int
	}{
		{name: "one too early", times: []int64{noon, 7, noon + 2}, want: []int64{noon, noon, noon + 2}, ignored: 1},
		{name: "the first", times: []int64{7, noon, noon + 2}, want: []int64{noon, noon, noon + 2}, ignored: 1},
		{name: "one too late", times: []int64{noon, noon + 1, noon + hour}, want: []int64{noon, noon + 1, noon + 1}, ignored: 1},
		{name: "the only one", times: []int64{7}, record: noon, want: []int64{noon}, ignored: 1},
		{name: "one of two", times: []int64{7, noon}, record: noon + 1, want: []int64{noon, noon}, ignored: 1},
		{name: "of two without another time", times: []int64{noon, 7}, want: []int64{noon, noon}, ignored: 1},
		{name: "the record", times: []int64{noon, noon + 1, noon + 2}, record: 7, want: []int64{noon, noon + 1, noon + 2}},
		{name: "an old record", times: []int64{noon, noon + 1, noon + 2}, record: noon + 24*hour, want: []int64{noon, noon + 1, noon + 2}},
		{name: "within ten minutes", times: []int64{noon - 10*minute, noon, noon + 10*minute}, want: []int64{noon - 10*minute, noon, noon + 10*minute}},
		{name: "a long profile", times: []int64{noon, noon + hour, noon + 2*hour}, duration: 2 * hour, want: []int64{noon, noon + hour, noon + 2*hour}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPayload("")
			stack := []uint64{p.location("f", "a.js", 1)}
			for _, time := range test.times {
				p.sample(stack, nil, at(time), period(10))
			}
			p.fields = pprofwire.AppendHeader(p.fields, pprofwire.Header{DurationNanos: test.duration * nanosPerMilli})
			r := newRequest("nodejs")
			r.addPprof(p.body(t)).SetTimestamp(pcommon.Timestamp(test.record * nanosPerMilli))
			pd, result := mustDecode(t, r.logs, Options{})
			var got []int64
			for _, time := range onlySample(t, pd).TimestampsUnixNano().All() {
				got = append(got, int64(time)/nanosPerMilli)
			}
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.ignored, result.Repairs.IgnoredNumbers)
			profile := profilesOf(pd)[0]
			assert.Equal(t, test.want[0], int64(profile.Time())/nanosPerMilli)
			assert.Less(t, int64(profile.DurationNano())/nanosPerMilli, 3*hour)
		})
	}
}
