// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// upload returns an upload of a service with stacks of its own if seed is above 0.
func upload(service string, seed, stacks int) Upload { return uploadOf(service, seed, stacks, 1) }

// uploadOf is upload with IDs that begin at first.
func uploadOf(service string, seed, stacks, first int) Upload {
	resource := pcommon.NewMap()
	resource.PutStr("service.name", service)
	strings, b := []string{"", "cpu", "nanoseconds"}, []byte(nil)
	b = pprofwire.AppendSampleType(b, pprofwire.ValueType{Type: 1, Unit: 2})
	for i := range stacks {
		id := uint32(i + first)
		b = pprofwire.AppendSample(b, pprofwire.AppendID(nil, id), []int64{int64(i + 1)}, nil)
		b = pprofwire.AppendLocation(b, pprofwire.Location{ID: uint64(id)}, []pprofwire.Line{{FunctionID: uint64(id), Line: 1}})
		b = pprofwire.AppendFunction(b, pprofwire.Function{ID: uint64(id), Name: uint32(len(strings))})
		strings = append(strings, fmt.Sprintf("function-%d-%d", seed, i))
	}
	for _, s := range strings {
		b = pprofwire.AppendString(b, s)
	}
	return Upload{Resource: NewResource("", resource), Type: "cpu", Pprof: b}
}

func add(t *testing.T, s *Store, u Upload) *Profile {
	t.Helper()
	p := must.Get(s.Add(u, nil))(t)
	require.NotNil(t, p)
	return p
}

// The store never counts more than its limit, and the memory of profiles that are evicted is free, also that of their symbols.
func TestMemoryLimit(t *testing.T) {
	const limit = 1 << 20
	evicted := map[Reason]int{}
	s := New(Limits{Memory: limit, PerSeries: 1000}, func(r Reason) { evicted[r]++ })
	for i := range 500 {
		add(t, s, upload("s"+strconv.Itoa(i%7), i, 200))
		_, memory := s.Held()
		require.LessOrEqual(t, memory, int64(limit))
	}
	profiles, _ := s.Held()
	assert.Equal(t, 500, int(profiles)+evicted[ReasonMemory])
	assert.Greater(t, profiles, int64(5))
	newest, known := s.Search(&Query{Service: "s" + strconv.Itoa(499%7), Kind: "cpu"})
	require.True(t, known)
	assert.EqualValues(t, FirstSequence+500, newest[len(newest)-1].Sequence, "the newest is there")
	for _, p := range newest {
		sum := int64(0)
		for sample := range p.Samples.All {
			sum += sample.Values[0]
		}
		assert.EqualValues(t, 200*201/2, sum)
	}

	_, err := s.Add(upload("large", 1, 50_000), nil)
	require.ErrorIs(t, err, ErrTooLarge)
	_, memory := s.Held()
	assert.LessOrEqual(t, memory, int64(limit))
}

// Equal symbols of a service are in memory once.
func TestSymbolsAreShared(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
	add(t, s, upload("s", 1, 1000))
	_, one := s.Held()
	for range 99 {
		add(t, s, upload("s", 1, 1000))
	}
	_, all := s.Held()
	assert.Less(t, all, 6*one)
}

// What is counted is what is used.
func TestMemoryIsCounted(t *testing.T) {
	memorytest.CheckHeld(t, memorytest.Most, 1, func() (*Store, int64) {
		s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
		for i := range 200 {
			add(t, s, upload("s"+strconv.Itoa(i%10), i, 300))
		}
		_, counted := s.Held()
		return s, counted
	})
}

func TestAgeAndSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evicted := map[Reason]int{}
		s := New(Limits{Memory: 1 << 30, Age: time.Hour, PerSeries: 3}, func(r Reason) { evicted[r]++ })
		for i := range 5 {
			add(t, s, upload("s", i, 1))
		}
		assert.Equal(t, 2, evicted[ReasonSeries])
		old := upload("s", 9, 1)
		old.Arrived = time.Now().Add(-2 * time.Hour)
		p := must.Get(s.Add(old, nil))(t)
		assert.Nil(t, p, "it is too old")
		time.Sleep(2 * time.Hour)
		s.Expire()
		assert.Equal(t, 3, evicted[ReasonAge])
		profiles, memory := s.Held()
		assert.Zero(t, profiles)
		assert.Zero(t, memory)
		assert.Empty(t, s.blocks)
	})
}

// The age uses the monotonic clock. Without one, a clock that is set back would keep profiles for longer.
func TestClockJumps(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, Age: time.Hour, PerSeries: 1000}, func(Reason) {})
	u := upload("s", 1, 1)
	u.Time = time.Now().Add(1000 * time.Hour)
	p := add(t, s, u)
	assert.NotEqual(t, p.Arrived.Round(0).String(), p.Arrived.String(), "it has a monotonic reading")
	u.Arrived = time.Now().Add(-time.Minute).Round(0)
	p = add(t, s, u)
	assert.NotEqual(t, p.Arrived.Round(0).String(), p.Arrived.String(), "also one of an earlier run")
	s.Expire()
	profiles, _ := s.Held()
	assert.EqualValues(t, 2, profiles)
}

// A profile with an ID counts once.
func TestEqualUploads(t *testing.T) {
	s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
	u := upload("s", 1, 1)
	u.ID[0] = 1
	add(t, s, u)
	p := must.Get(s.Add(u, nil))(t)
	assert.Nil(t, p)
	profiles, _ := s.Held()
	assert.EqualValues(t, 1, profiles)
}

// Profiles are added and read at the same time, also while memory is short.
func TestConcurrency(t *testing.T) {
	s := New(Limits{Memory: 300_000, PerSeries: 50}, func(Reason) {})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				_, err := s.Add(upload("s"+strconv.Itoa(i%3), worker*50+i, 50), nil)
				assert.NoError(t, err)
				found, _ := s.Search(&Query{})
				for _, p := range found {
					table := p.Block.Table()
					for sample := range p.Samples.All {
						assert.Less(t, int(sample.Stack), len(table.Stacks.Rows))
					}
				}
			}
		})
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := int64(0)
	blocks := map[*Block]bool{}
	for e := s.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*Profile)
		bytes += p.cost
		blocks[p.Block] = true
	}
	for b := range blocks {
		bytes += b.bytes
	}
	assert.Equal(t, s.memory, bytes)
}

// Without memory, nothing is added, and the memory of a half-added profile is free.
func TestWithoutMemory(t *testing.T) {
	for _, first := range []int{1, 1 << 20} { // also for IDs that do not count up
		withoutMemory(t, uploadOf("s", 1, 500, first))
	}
}

func withoutMemory(t *testing.T, u Upload) {
	t.Helper()
	s := New(Limits{Memory: 1 << 30, PerSeries: 1000}, func(Reason) {})
	for limit := int64(0); ; limit += 5000 {
		p, err := s.Add(u, meter.New(0, func(bytes int64) error {
			if bytes > limit {
				return ErrTooLarge
			}
			return nil
		}))
		if err == nil {
			require.NotNil(t, p)
			break
		}
		require.NotErrorIs(t, err, ErrInvalid)
		_, memory := s.Held()
		require.Zero(t, memory)
	}
}

// TestRows: an entry is found by its ID, whether or not the IDs count up.
func TestRows(t *testing.T) {
	for _, ids := range [][]uint64{{1, 2, 3}, {3, 2, 1}, {2, 1, 2, 3}, {0, 1, math.MaxUint64, 7}, {1, 1, 3, 2, 3}} {
		var r rows
		want := map[uint64]uint32{}
		for i, id := range ids {
			want[id] = uint32(i + 10)
			r.set(id, uint32(i+10), nil)
		}
		for _, id := range []uint64{0, 1, 2, 3, 4, 7, math.MaxUint64} {
			row, known := r.row(id)
			wanted, exists := want[id]
			assert.Equal(t, exists, known, "%v: %d", ids, id)
			assert.Equal(t, wanted, row, "%v: %d", ids, id)
		}
	}
}

func TestSegment(t *testing.T) {
	assert.Equal(t, []string{"u", "._", ".._", "a"}, []string{segment("", "u"), segment(".", "u"), segment("..", "u"), segment("a", "u")})
}

// TestHead checks which profiles are of CPU time, and which of them go build accepts.
func TestHead(t *testing.T) {
	cpu, samples, wall := pprof.SampleType{Name: "cpu", Unit: "nanoseconds"}, pprof.SampleType{Name: "samples", Unit: "count"},
		pprof.SampleType{Name: "wall", Unit: "nanoseconds"}
	for name, test := range map[string]struct {
		types     []pprof.SampleType
		period    pprof.SampleType
		startLine int64
		cpu, pgo  bool
	}{
		"cpu":                     {types: []pprof.SampleType{samples, cpu}, cpu: true},
		"cpu with start lines":    {types: []pprof.SampleType{cpu}, startLine: 7, cpu: true, pgo: true},
		"samples per CPU time":    {types: []pprof.SampleType{samples}, period: cpu, startLine: 7, cpu: true, pgo: true},
		"samples per wall time":   {types: []pprof.SampleType{samples}, period: wall, startLine: 7},
		"wall":                    {types: []pprof.SampleType{samples, wall}, period: wall, startLine: 7},
		"wall with period of CPU": {types: []pprof.SampleType{wall}, period: cpu, startLine: 7},
		"no types":                {startLine: 7},
	} {
		var b []byte
		texts := []string{""}
		valueType := func(t pprof.SampleType) pprofwire.ValueType {
			texts = append(texts, t.Name, t.Unit)
			return pprofwire.ValueType{Type: uint32(len(texts) - 2), Unit: uint32(len(texts) - 1)}
		}
		for _, sampleType := range test.types {
			b = pprofwire.AppendSampleType(b, valueType(sampleType))
		}
		if test.period != (pprof.SampleType{}) {
			b = pprofwire.AppendPeriodType(b, valueType(test.period))
		}
		b = pprofwire.AppendFunction(b, pprofwire.Function{ID: 1})
		b = pprofwire.AppendFunction(b, pprofwire.Function{ID: 2, StartLine: test.startLine})
		for _, text := range texts {
			b = pprofwire.AppendString(b, text)
		}
		var p pprofwire.Profile
		assert.NoError(t, p.Read(b, pprofwire.NoLimits()), name)
		head := headOf(&p, "a")
		assert.Equal(t, test.cpu, head.CPU, name)
		assert.Equal(t, test.pgo, head.PGO, name)
	}
}
