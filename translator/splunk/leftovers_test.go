// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// acceptedAlone translates the records that were not refused, in a request of their own.
func acceptedAlone(t *testing.T, r request, refusals []Refusal) Result {
	t.Helper()
	refused := map[int]bool{}
	for _, refusal := range refusals {
		refused[refusal.Record] = true
	}
	accepted := newRequest("nodejs")
	for i, record := range r.scope.LogRecords().All() {
		if !refused[i] {
			record.CopyTo(accepted.scope.LogRecords().AppendEmpty())
		}
	}
	_, result := mustDecode(t, accepted.logs, Options{})
	return result
}

// TestLateRefusalsLeaveNothing: with any budget, a refused record counts once, and the message has neither its entries nor its size.
func TestLateRefusalsLeaveNothing(t *testing.T) {
	keys := newPayload("")
	for s := range 5 {
		labels := make([]label, 1000)
		for i := range labels {
			labels[i] = str(fmt.Sprint("k", s*1000+i), "v")
		}
		keys.sample([]uint64{keys.location(fmt.Sprint("f", s), "main.js", 7)}, nil, labels...)
	}
	pprofs, mixed := newRequest("nodejs"), newRequest("nodejs")
	for _, body := range []string{keys.body(t), onePayload(str("a", "b")).body(t), keys.body(t), onePayload(str("k1", "c")).body(t)} {
		pprofs.addPprof(body)
		mixed.addPprof(body)
		mixed.addText(oneFrame)
	}
	for name, r := range map[string]request{"pprofs": pprofs, "with texts": mixed} {
		asked := int64(0)
		require.NoError(t, translating(r.logs)(func(n int64) error { asked = n; return nil }))
		both := 0 // the steps that accept some records and refuse others
		for step := range int64(60) {
			pd, result := NewDecoder(Options{}).Decode(r.logs, received, func(n int64) error {
				if n > asked*step/60 {
					return errors.New("no more")
				}
				return nil
			})
			accepted := result.PprofRecords + result.TextRecords
			assert.Equal(t, result.Records, accepted+len(result.Refused), "%s: %d", name, step)
			if accepted > 0 {
				require.NoError(t, checkOptions.Check(pd), "%s: %d", name, step)
				location := pd.Dictionary().LocationTable().At(1)
				assert.Equal(t, map[string]any{"profile.frame.type": "v8js"}, attributesOf(pd, location.AttributeIndices()), "%s: %d", name, step)
			}
			if accepted > 0 && len(result.Refused) > 0 {
				both++
			}
			want := acceptedAlone(t, r, result.Refused)
			assert.Equal(t, [2]int{want.Events, want.Samples}, [2]int{result.Events, result.Samples}, "%s: %d", name, step)
			assert.Equal(t, want.Repairs, result.Repairs, "%s: %d", name, step)
			assert.InDelta(t, want.MessageBytes, result.MessageBytes, 4096, "%s: %d", name, step)
		}
		assert.Greater(t, both, 10, name)
	}
}

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
