// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestWidenTimes: the time range of a profile becomes the smallest that includes the old one and all timestamps, unless a clock is wrong.
func TestWidenTimes(t *testing.T) {
	const (
		limit = uint64(10 * time.Minute)
		start = 100 * limit
	)
	for name, test := range map[string]struct {
		start, duration         uint64
		timestamps              []uint64
		wantStart, wantDuration uint64
	}{
		"within":                   {start, 10, []uint64{start, start + 9}, start, 10},
		"none":                     {start, 0, nil, start, 0},
		"at the end":               {start, 10, []uint64{start + 3, start + 10}, start, 11},
		"before":                   {start, 10, []uint64{start - 2}, start - 2, 12},
		"on both sides":            {start, 10, []uint64{start + 20, start - 2}, start - 2, 23},
		"no duration":              {start, 0, []uint64{start, start + 5}, start, 6},
		"no time":                  {0, 0, []uint64{start + 7, start}, start, 8},
		"a duration only":          {0, 20, []uint64{start, start + 7}, start, 20},
		"as far before as allowed": {start, 10, []uint64{start - limit}, start - limit, limit + 10},
		"farther before":           {start, 10, []uint64{start - limit - 1}, start, 10},
		"as far after as allowed":  {start, 10, []uint64{start + 9 + limit}, start, 10 + limit},
		"farther after":            {start, 10, []uint64{start + 10 + limit}, start, 10},
		"one of a wrong clock":     {start, 10, []uint64{1, start + 10}, start, 10},
		"the last time":            {start, 10, []uint64{math.MaxUint64}, start, 10},
		"no end":                   {start, math.MaxUint64, []uint64{1}, start, math.MaxUint64},
	} {
		t.Run(name, func(t *testing.T) {
			message := func() pprofile.Profiles {
				pd := samplesOf(func(sample func(int32) pprofile.Sample) {
					if s := sample(1); len(test.timestamps) > 0 {
						s.TimestampsUnixNano().FromRaw(test.timestamps)
					} else {
						s.Values().Append(1)
					}
				})
				profile := onlyProfile(pd)
				profile.SetTime(pcommon.Timestamp(test.start))
				profile.SetDurationNano(test.duration)
				return pd
			}
			for _, widen := range []bool{true, false} {
				after, stats, err := dedup.New(dedup.Options{WidenTimes: widen}).Deduplicate(message())
				require.NoError(t, err)
				profile := onlyProfile(after)
				wantStart, wantDuration := test.wantStart, test.wantDuration
				if !widen {
					wantStart, wantDuration = test.start, test.duration
				}
				assert.Equal(t, wantStart, uint64(profile.Time()))
				assert.Equal(t, wantDuration, profile.DurationNano())
				changed := 0
				if wantStart != test.start || wantDuration != test.duration {
					changed = 1
				}
				assert.Equal(t, changed, stats.WidenedProfiles)
			}
		})
	}
}

// The profiles of a capture keep a common time, whichever of them has a timestamp outside, so that they stay one pprof. Other profiles
// keep theirs.
func TestWidenTimesOfCaptures(t *testing.T) {
	of := func(pd pprofile.Profiles, sampleType int32, start uint64, timestamps ...uint64) {
		profile := onlyProfile(pd)
		if sampleType > 1 {
			profile = pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().AppendEmpty()
		}
		profile.SampleType().SetTypeStrindex(sampleType)
		profile.SetTime(pcommon.Timestamp(start))
		profile.SetDurationNano(10)
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(1)
		sample.TimestampsUnixNano().FromRaw(timestamps)
		if len(timestamps) == 0 {
			sample.Values().Append(1)
		}
	}
	for name, tt := range map[string]struct {
		times      [][]uint64 // the start, and timestamps
		want       [][2]uint64
		widened    int
		wantPprofs int
	}{
		"the second at the end": {[][]uint64{{100}, {100, 110}}, [][2]uint64{{100, 11}, {100, 11}}, 2, 1},
		"the first at the end":  {[][]uint64{{100, 105, 110}, {100, 101}}, [][2]uint64{{100, 11}, {100, 11}}, 2, 1},
		"on both sides":         {[][]uint64{{100, 98}, {100}, {100, 119}}, [][2]uint64{{98, 22}, {98, 22}, {98, 22}}, 3, 1},
		"another capture":       {[][]uint64{{100, 110}, {200}, {200, 203}}, [][2]uint64{{100, 11}, {200, 10}, {200, 10}}, 1, 2},
		"no time":               {[][]uint64{{0, 500}, {0}, {0, 520}}, [][2]uint64{{500, 10}, {0, 10}, {520, 10}}, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range []dedup.Shape{dedup.ShapeCombined, dedup.ShapePerEvent, dedup.ShapeTotal} {
				pd := samplesOf(func(func(int32) pprofile.Sample) {})
				for i, times := range tt.times {
					of(pd, int32(i+1), times[0], times[1:]...)
				}
				pd.MarkReadOnly()
				after, stats, err := dedup.New(dedup.Options{WidenTimes: true, Shape: shape}).Deduplicate(pd)
				require.NoError(t, err)
				pprofs := 0
				for _, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(after) {
					require.NoError(t, err)
					pprofs++
				}
				if shape == dedup.ShapeTotal {
					assert.Zero(t, stats.WidenedProfiles, "there are no timestamps any more")
					continue
				}
				assert.Equal(t, tt.wantPprofs, pprofs)
				assert.Equal(t, tt.widened, stats.WidenedProfiles)
				for i, profile := range after.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
					got := [2]uint64{uint64(profile.Time()), profile.DurationNano()}
					assert.Equal(t, tt.want[i], got)
				}
			}
		})
	}
}

func onlyProfile(pd pprofile.Profiles) pprofile.Profile {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
}
