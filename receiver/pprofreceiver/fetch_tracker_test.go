// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// change is what a profile is to the one before.
type change int

const (
	changeBaseline   change = iota // There is none.
	changeDifference               // It is what happened since.
	changeRestart                  // Its program was restarted since.
)

// changeOf applies a message.
func changeOf(of *tracker, message pprofile.Profiles, fetched time.Time) change {
	switch isFirst := of.apply(message, fetched); {
	case isFirst:
		return changeBaseline
	case of.restarted():
		return changeRestart
	default:
		return changeDifference
	}
}

// program is a target: counters by function, and the profile that it serves.
type program struct {
	counts map[int]int64
	live   int64
	start  uint64 // of its mapping
	now    int64
}

// allocs is an allocs profile of the program: a counter in two units, and a gauge. Entries stand in an order, and under
// ids, that change from one profile to the next.
func (p *program) allocs(t *testing.T, r *rand.Rand) pprofile.Profiles {
	t.Helper()
	mapping := &profile.Mapping{ID: 1, Start: p.start, Limit: p.start + 1<<20, File: "app"}
	out := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"},
		},
		Mapping:   []*profile.Mapping{mapping},
		TimeNanos: p.now,
	}
	order := make([]int, 0, len(p.counts))
	for i := range p.counts {
		order = append(order, i)
	}
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for n, i := range order {
		function := &profile.Function{ID: uint64(n + 1), Name: "f" + strconv.Itoa(i), Filename: "f.go"}
		location := &profile.Location{ID: uint64(n + 1), Mapping: mapping, Address: p.start + uint64(i), Line: []profile.Line{{Function: function, Line: int64(i)}}}
		out.Function = append(out.Function, function)
		out.Location = append(out.Location, location)
		out.Sample = append(out.Sample, &profile.Sample{
			Location: []*profile.Location{location},
			Value:    []int64{p.counts[i], p.counts[i] * 64, p.live},
			NumLabel: map[string][]int64{"bytes": {64}},
		})
	}
	return decode(t, out)
}

func decode(t *testing.T, p *profile.Profile) pprofile.Profiles {
	t.Helper()
	message, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(plain(t, p), pprof.Source{})
	require.NoError(t, err)
	return message
}

// TestSumsEqualWhatHappened lets a program count by known amounts, be started again and miss scrapes. What is handed on
// adds up to what happened, but for what nobody could see: the time before the first scrape, what was counted between
// the last scrape before a restart and that restart, and a restart after which every counter soon stands above where it
// stood before.
func TestSumsEqualWhatHappened(t *testing.T) {
	var allRestarts, allHidden int64
	seeds := uint64(50)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		p := &program{counts: map[int]int64{}, start: 0x400000, live: 7}
		var tracker tracker
		var happened, unseen, handed, restarts, hidden int64
		last, again := map[int]int64{}, false
		for step := range 40 {
			for range r.IntN(20) {
				n := r.Int64N(1000) + 1
				p.counts[r.IntN(30)] += n
				happened += n
				unseen += n
			}
			p.now += 1e9
			switch {
			case r.IntN(10) == 0:
				// The counters begin anew. What was not scraped is lost with the program.
				happened -= unseen
				unseen = 0
				p.counts = map[int]int64{}
				again = true
				continue
			case r.IntN(5) == 0:
				continue // a missed scrape
			}
			before := tracker.known.at
			message := p.allocs(t, r)
			outcome := changeOf(&tracker, message, time.Time{})
			switch {
			case again && outcome == changeRestart:
				restarts++
			case again && outcome == changeDifference:
				for i, before := range last {
					require.GreaterOrEqual(t, p.counts[i]+p.counts[i]/tolerance+1, before, "a counter shows the restart")
					happened -= min(before, p.counts[i])
				}
				hidden++
			default:
				require.NotEqual(t, changeRestart, outcome, "nothing was started again")
			}
			last, again = maps.Clone(p.counts), false
			if step > 0 && outcome != changeBaseline {
				handed += sums(message)["alloc_objects/count"]
				require.Equal(t, sums(message)["alloc_objects/count"]*64, sums(message)["alloc_space/bytes"])
				for profile := range walk.Profiles(message) {
					for _, sample := range profile.Samples().All() {
						require.GreaterOrEqual(t, sample.Values().At(0), int64(0))
					}
					require.Equal(t, before, profile.Time())
					require.EqualValues(t, p.now, uint64(profile.Time())+profile.DurationNano())
				}
			} else {
				happened -= unseen
			}
			unseen = 0
			tracker.commit()
		}
		assert.Equal(t, happened-unseen, handed, "seed %d, %d restarts", seed, restarts)
		allRestarts, allHidden = allRestarts+restarts, allHidden+hidden
	}
	assert.Greater(t, allRestarts, 20*allHidden, "hidden restarts are rare")
}

func TestTrackerChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := &program{counts: map[int]int64{1: 1000, 2: 100_000}, live: 5, start: 0x400000, now: 10}
	var tracker tracker
	apply := func() (change, map[string]int64) {
		message := p.allocs(t, r)
		outcome := changeOf(&tracker, message, time.Time{})
		return outcome, sums(message)
	}
	step := func(name string, want change, objects, live int64) {
		t.Helper()
		outcome, got := apply()
		tracker.commit()
		assert.Equal(t, want, outcome, name)
		assert.Equal(t, objects, got["alloc_objects/count"], name)
		assert.Equal(t, live, got["inuse_space/bytes"], name)
	}
	outcome, _ := apply()
	assert.Equal(t, changeBaseline, outcome)
	outcome, _ = apply()
	assert.Equal(t, changeBaseline, outcome, "not until it is committed")
	tracker.commit()

	step("nothing happened; the gauge is what it is", changeDifference, 0, 10)
	p.counts[1] += 7
	step("one counter", changeDifference, 7, 10)
	p.counts[3] = 3
	step("a new stack", changeDifference, 3, 15)

	p.counts[1] += 5
	outcome, got := apply()
	assert.Equal(t, changeDifference, outcome)
	assert.EqualValues(t, 5, got["alloc_objects/count"])
	p.counts[1] += 6
	step("what was not handed on comes with the next", changeDifference, 11, 15)

	p.counts[2] -= 100
	step("estimates are rounded", changeDifference, 0, 15)
	p.counts[2] -= 101
	step("back by more", changeRestart, 1018+99_799+3, 15)

	p.start += 0x1000
	step("mapped elsewhere", changeRestart, 1018+99_799+3, 15)
	delete(p.counts, 3)
	step("a stack that is gone", changeRestart, 1018+99_799, 10)
	p.counts[1], p.counts[2] = 1, 200_000
	step("more in total, but not everywhere", changeRestart, 200_001, 10)
}

// TestSameSampleTwice shares one counter between samples that say the same.
func TestSameSampleTwice(t *testing.T) {
	function := &profile.Function{ID: 1, Name: "f"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function}}}
	contentions := func(values ...int64) pprofile.Profiles {
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}},
			Function:   []*profile.Function{function}, Location: []*profile.Location{location},
		}
		for _, v := range values {
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{location}, Value: []int64{v, 10 * v}})
		}
		return decode(t, p)
	}
	fetched := time.Unix(100, 0)
	var tracker tracker
	changeOf(&tracker, contentions(5, 6), fetched)
	tracker.commit()
	message := contentions(4, 9, 2)
	assert.Equal(t, changeDifference, changeOf(&tracker, message, fetched.Add(3*time.Second)))
	assert.Equal(t, map[string]int64{"contentions/count": 4, "delay/nanoseconds": 40}, sums(message))
	for profile := range walk.Profiles(message) {
		assert.Equal(t, fetched.UTC(), profile.Time().AsTime(), "the time of fetching stands in")
		assert.EqualValues(t, 3e9, profile.DurationNano())
	}
}

// TestIdentity tells samples apart that differ in one thing only, unless that is how complete the symbols of their mapping are.
func TestIdentity(t *testing.T) {
	base := func() *profile.Profile {
		mapping := &profile.Mapping{ID: 1, Start: 1, Limit: 10, File: "app", BuildID: "b"}
		function := &profile.Function{ID: 1, Name: "f", SystemName: "s", Filename: "f.go", StartLine: 1}
		location := &profile.Location{ID: 1, Mapping: mapping, Address: 5, Line: []profile.Line{{Function: function, Line: 2, Column: 3}}}
		return &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "delay", Unit: "nanoseconds"}},
			Mapping:    []*profile.Mapping{mapping}, Function: []*profile.Function{function}, Location: []*profile.Location{location},
			Sample: []*profile.Sample{{
				Location: []*profile.Location{location}, Value: []int64{1000},
				Label: map[string][]string{"a": {"b"}}, NumLabel: map[string][]int64{"n": {1}}, NumUnit: map[string][]string{"n": {"bytes"}},
			}},
		}
	}
	for name, change := range map[string]func(*profile.Profile){
		"nothing":     func(*profile.Profile) {},
		"mapping":     func(p *profile.Profile) { p.Mapping[0].File = "x" },
		"start":       func(p *profile.Profile) { p.Mapping[0].Start = 2 },
		"limit":       func(p *profile.Profile) { p.Mapping[0].Limit = 11 },
		"offset":      func(p *profile.Profile) { p.Mapping[0].Offset = 2 },
		"build id":    func(p *profile.Profile) { p.Mapping[0].BuildID = "x" },
		"name":        func(p *profile.Profile) { p.Function[0].Name = "x" },
		"system name": func(p *profile.Profile) { p.Function[0].SystemName = "x" },
		"file":        func(p *profile.Profile) { p.Function[0].Filename = "x" },
		"start line":  func(p *profile.Profile) { p.Function[0].StartLine = 2 },
		"address":     func(p *profile.Profile) { p.Location[0].Address = 6 },
		"line":        func(p *profile.Profile) { p.Location[0].Line[0].Line = 3 },
		"column":      func(p *profile.Profile) { p.Location[0].Line[0].Column = 4 },
		"depth":       func(p *profile.Profile) { p.Sample[0].Location = append(p.Sample[0].Location, p.Location[0]) },
		"label":       func(p *profile.Profile) { p.Sample[0].Label["a"][0] = "x" },
		"number":      func(p *profile.Profile) { p.Sample[0].NumLabel["n"][0] = 2 },
		"unit":        func(p *profile.Profile) { p.Sample[0].NumUnit["n"][0] = "x" },
		"link": func(p *profile.Profile) {
			p.Sample[0].Label["trace_id"] = []string{"0102030405060708090a0b0c0d0e0f10"}
			p.Sample[0].Label["span_id"] = []string{"0102030405060708"}
		},
		"symbols": func(p *profile.Profile) {
			m := p.Mapping[0]
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true, true
		},
	} {
		var tracker tracker
		changeOf(&tracker, decode(t, base()), time.Time{})
		tracker.commit()
		other := base()
		change(other)
		want := changeRestart
		if name == "nothing" || name == "symbols" {
			want = changeDifference
		}
		assert.Equal(t, want, changeOf(&tracker, decode(t, other), time.Time{}), name)
	}
}

func TestKeepCounters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := &program{counts: map[int]int64{1: 10, 2: -3}, live: -5}
	message := p.allocs(t, r)
	keepCounters(message)
	assert.Equal(t, map[string]int64{"alloc_objects/count": 10, "alloc_space/bytes": 640}, sums(message))
}

// TestCounterBytes: no number of counters takes more memory than is reserved for them.
func TestCounterBytes(t *testing.T) {
	for _, number := range []int{500, 900, 1000, 1100, 1800, 5000, 15_000} {
		memorytest.CheckHeld(t, memorytest.Most, 20, func() (counters, int64) {
			values := make(map[identity]int64, number)
			for n := range number {
				values[identity{byte(n), byte(n >> 8)}] = int64(n)
			}
			return counters{"delay": values}, int64(counterBytes * number)
		})
	}
}
