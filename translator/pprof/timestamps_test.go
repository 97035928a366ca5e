// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// eventsOf renders the samples of a profile as values@timestamps {attributes}.
func eventsOf(d decoded, p pprofile.Profile) (all []string) {
	for _, s := range p.Samples().All() {
		all = append(all, fmt.Sprintf("%v@%v {%s}", s.Values().AsRaw(), s.TimestampsUnixNano().AsRaw(), d.attributes(s.AttributeIndices())))
	}
	return all
}

// TestTimestampLabels: a label becomes the timestamp of its sample, and samples that differ in nothing else become one, in the order
// of time. They follow the samples without a timestamp.
func TestTimestampLabels(t *testing.T) {
	for name, test := range map[string]struct {
		samples [][]label
		want    []string
	}{
		"combined":            {[][]label{{num("t", 5, "")}, {num("t", 6, "")}, {num("t", 4, "")}}, []string{"[3 1 2]@[4 5 6] {}"}},
		"equal times":         {[][]label{{num("t", 5, "")}, {num("t", 4, "")}, {num("t", 5, "")}}, []string{"[2 1 3]@[4 5 5] {}"}},
		"other attributes":    {[][]label{{num("t", 5, ""), str("a", "b")}, {num("t", 6, "")}, {str("a", "b"), num("t", 7, "")}}, []string{`[1 3]@[5 7] {a="b"}`, "[2]@[6] {}"}},
		"units":               {[][]label{{num("ms", 5, "")}, {num("s", 6, "")}}, []string{"[1 2]@[5000000 6000000000] {}"}},
		"the first counts":    {[][]label{{num("s", 5, ""), num("ms", 7, "")}}, []string{"[1]@[7000000] {s=5}"}},
		"none":                {[][]label{{str("a", "b")}, {str("a", "b")}}, []string{`[1]@[] {a="b"}`, `[2]@[] {a="b"}`}},
		"both kinds":          {[][]label{{}, {num("t", 1, "")}, {}}, []string{"[1]@[] {}", "[3]@[] {}", "[2]@[1] {}"}},
		"zero and below":      {[][]label{{num("t", 0, "")}, {num("t", -1, "")}}, []string{"[1]@[] {t=0}", "[2]@[] {t=-1}"}},
		"text":                {[][]label{{str("t", "5")}}, []string{`[1]@[] {t="5"}`}},
		"twice":               {[][]label{{num("t", 5, ""), num("t", 6, "")}}, []string{"[1]@[] {t=[5,6]}"}},
		"too late to count":   {[][]label{{num("s", math.MaxInt64/1000, "")}}, []string{fmt.Sprintf("[1]@[] {s=%d}", int64(math.MaxInt64/1000))}},
		"a unit of its own":   {[][]label{{num("t", 5, "nanoseconds")}}, []string{"[1]@[5] {}"}},
		"as late as possible": {[][]label{{num("t", math.MaxInt64, "")}}, []string{fmt.Sprintf("[1]@[%d] {}", int64(math.MaxInt64))}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code()
			for i, labels := range test.samples {
				p.sample([]uint32{1}, []int64{int64(i + 1)}, labels...)
			}
			raw := p.bytes()
			pd, stats, err := pprof.NewDecoder(pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{
				{Label: "t", Unit: time.Nanosecond}, {Label: "ms", Unit: time.Millisecond}, {Label: "s", Unit: time.Second},
			}}).Decode(raw, pprof.Source{})
			require.NoError(t, err)
			require.NoError(t, profiletest.CheckOptions{AllowMixedShapes: true}.Check(pd))
			d := decoded{pd: pd}
			assert.Equal(t, test.want, eventsOf(d, d.profile(0)))
			assert.Equal(t, len(test.want), stats.OTLPSamples)
		})
	}
}

// TestTimestampLabelsAndTime: the time range of the profiles includes all timestamps, and changes only if it must.
func TestTimestampLabelsAndTime(t *testing.T) {
	for _, test := range []struct{ time, duration, at, wantTime, wantDuration int64 }{
		{100, 10, 105, 100, 10},
		{100, 10, 100, 100, 10},
		{100, 10, 110, 100, 11},
		{100, 10, 95, 95, 15},
		{100, 0, 105, 100, 6},
		{0, 0, 105, 105, 1},
		{0, 10, 105, 105, 10},
	} {
		p := newPayload("a/1", "b/1").code().header(pprofwire.Header{TimeNanos: test.time, DurationNanos: test.duration})
		p.sample([]uint32{1}, []int64{1, 0}, num("timestamp", test.at, "nanoseconds"))
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{pprof.EncoderTimestampLabel()}}).
			Decode(p.bytes(), pprof.Source{})
		require.NoError(t, err)
		for i := range 2 {
			assert.EqualValues(t, test.wantTime, (decoded{pd: pd}).profile(i).Time())
			assert.EqualValues(t, test.wantDuration, (decoded{pd: pd}).profile(i).DurationNano())
		}
	}
}

// TestTimestampsOutside: a label whose time is more than ten minutes outside of the profile stays a label, and is counted.
func TestTimestampsOutside(t *testing.T) {
	const minute, start = int64(time.Minute), int64(1_795_000_000_000_000_000)
	for name, test := range map[string]struct {
		time, duration         int64
		times                  []int64
		want                   []string
		wantTime, wantDuration int64
		invalid                int
	}{
		"1970": {
			start, minute,
			[]int64{start, 7},
			[]string{"[2]@[] {timestamp=7 nanoseconds}", "[1]@[1795000000000000000] {}"},
			start, minute, 1,
		},
		"as far before as allowed": {start, minute, []int64{start - 10*minute}, []string{"[1]@[1794999400000000000] {}"}, start - 10*minute, 11 * minute, 0},
		"farther before":           {start, minute, []int64{start - 10*minute - 1}, []string{"[1]@[] {timestamp=1794999399999999999 nanoseconds}"}, start, minute, 1},
		"as far after as allowed":  {start, minute, []int64{start + 11*minute - 1}, []string{"[1]@[1795000659999999999] {}"}, start, 11 * minute, 0},
		"farther after":            {start, minute, []int64{start + 11*minute}, []string{"[1]@[] {timestamp=1795000660000000000 nanoseconds}"}, start, minute, 1},
		"no time": {
			0, 0,
			[]int64{start, start - 10*minute, start + 20*minute},
			[]string{"[3]@[] {timestamp=1795001200000000000 nanoseconds}", "[2 1]@[1794999400000000000 1795000000000000000] {}"},
			start - 10*minute, 10*minute + 1, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code().header(pprofwire.Header{TimeNanos: test.time, DurationNanos: test.duration})
			for i, at := range test.times {
				p.sample([]uint32{1}, []int64{int64(i + 1)}, num("timestamp", at, "nanoseconds"))
			}
			pd, stats, err := pprof.NewDecoder(pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{pprof.EncoderTimestampLabel()}}).
				Decode(p.bytes(), pprof.Source{})
			require.NoError(t, err)
			d := decoded{pd: pd}
			assert.Equal(t, test.want, eventsOf(d, d.profile(0)))
			assert.EqualValues(t, test.wantTime, d.profile(0).Time())
			assert.EqualValues(t, test.wantDuration, d.profile(0).DurationNano())
			assert.Equal(t, test.invalid, stats.Repairs.InvalidTimes)
		})
	}
}

// TestTimestampsRoundTrip: decoding restores the timestamps that the encoder writes as labels.
func TestTimestampsRoundTrip(t *testing.T) {
	p := newPayload("samples/count", "cpu/nanoseconds").code().header(pprofwire.Header{TimeNanos: 1000, DurationNanos: 1000})
	for i := range int64(40) {
		labels := []label{num("timestamp", 1000+i, "nanoseconds")}
		if i%3 == 0 {
			labels = append(labels, str("key", strconv.FormatInt(i%2, 10)), str("trace_id", fmt.Sprintf("%032x", i%5+1)), str("span_id", fmt.Sprintf("%016x", i%5+1)))
		}
		p.sample([]uint32{uint32(i%3 + 1)}, []int64{1, i % 4}, labels...)
	}
	p.sample([]uint32{1}, []int64{1, 1}, str("key", "without a time"))
	decoder := pprof.NewDecoder(pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{pprof.EncoderTimestampLabel()}})
	before, _, err := decoder.Decode(p.bytes(), pprof.Source{})
	require.NoError(t, err)
	after, _, err := decoder.Decode(encodeOne(t, pprof.NewEncoder(pprof.EncodeOptions{TimestampLabels: true}), before), pprof.Source{})
	require.NoError(t, err)
	require.Empty(t, profiletest.Diff(before, after, profiletest.IgnoreProfileID()))
	assert.Equal(t, 3, linkless(before), "samples of equal identity are one: two stacks, and the sample without a time")
}

// linkless counts the samples of the first profile without a link.
func linkless(pd pprofile.Profiles) (n int) {
	for _, s := range (decoded{pd: pd}).profile(0).Samples().All() {
		if s.LinkIndex() == 0 {
			n++
		}
	}
	return n
}

// TestTimestampLabelsReserveTheirMemory: memory is reserved before it is allocated.
func TestTimestampLabelsReserveTheirMemory(t *testing.T) {
	p := newPayload("cpu/ns").code()
	for i := range int64(10_000) {
		p.sample([]uint32{1}, []int64{1}, num("timestamp", i+1, "nanoseconds"), num("id", i, ""))
	}
	memorytest.Check(t, func(reserve func(int64) error) error {
		options := pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{pprof.EncoderTimestampLabel()}}
		_, _, err := pprof.NewDecoder(options).Decode(p.bytes(), pprof.Source{Reserve: reserve})
		return err
	})
}

// TestUnitOfTimestamps: without a unit, the numbers are nanoseconds.
func TestUnitOfTimestamps(t *testing.T) {
	payload := wire{}.message(6, nil).message(6, wire("ts")).message(1, nil)
	payload = payload.message(2, wire{}.message(2, wire{1}).message(3, wire{}.number(1, 1).number(3, 5)))
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{{Label: "ts"}}}).Decode(payload, pprof.Source{})
	require.NoError(t, err)
	sample := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
	assert.Equal(t, []uint64{5}, sample.TimestampsUnixNano().AsRaw())
}
