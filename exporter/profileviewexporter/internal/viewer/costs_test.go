// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// shape describes a profile of random stacks.
type shape struct {
	samples, depth, functions, nameBytes, labels int
	// distinct is the number of frames at the leaf that differ between stacks.
	distinct int
	// nameless locations have no functions.
	nameless bool
}

func (s shape) profile() *profile.Profile {
	random := rand.New(rand.NewPCG(1, 2))
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 1 << 40, File: "program"}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Mapping: []*profile.Mapping{m}}
	for i := range s.functions {
		name := strconv.Itoa(i) + strings.Repeat("n", s.nameBytes)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: "/" + name}
		l := &profile.Location{ID: f.ID, Mapping: m, Address: uint64(0x1000 + i), Line: []profile.Line{{Function: f, Line: 1}}}
		if s.nameless {
			l.Line = nil
		} else {
			p.Function = append(p.Function, f)
		}
		p.Location = append(p.Location, l)
	}
	for i := range s.samples {
		one := &profile.Sample{Value: []int64{int64(i + 1)}}
		for frame := range s.depth {
			at := frame % s.functions
			if frame < s.distinct {
				at = random.IntN(s.functions)
			}
			one.Location = append(one.Location, p.Location[at])
		}
		if s.labels > 0 {
			one.Label, one.NumLabel = map[string][]string{}, map[string][]int64{}
			for label := range s.labels / 2 {
				one.Label["text"+strconv.Itoa(label)] = []string{strconv.Itoa(i)}
				one.NumLabel["number"+strconv.Itoa(label)] = []int64{int64(i)}
			}
		}
		p.Sample = append(p.Sample, one)
	}
	return p
}

// peakOf returns by how much the heap grows at most while f runs.
func peakOf(f func()) int64 {
	read := func() int64 {
		samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(samples)
		return int64(samples[0].Value.Uint64())
	}
	runtime.GC()
	before := read()
	end, peak := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			select {
			case <-end:
				peak <- most
				return
			case <-time.After(time.Millisecond):
				most = max(most, read()-before)
			}
		}
	}()
	f()
	close(end)
	return <-peak
}

// The memory of a page is at most the computed cost of its profile, for any shape of profile, plus a quarter: the amount of
// garbage depends on the time of its collection.
func TestCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("renders large profiles")
	}
	for name, test := range map[string]struct {
		shape
		query string
	}{
		"tiny":               {shape{1, 1, 1, 10, 0, 1, false}, ""},
		"many samples":       {shape{50_000, 2, 300, 30, 0, 2, false}, ""},
		"shared stacks":      {shape{500, 500, 500, 30, 0, 3, false}, ""},
		"deep stacks":        {shape{200, 500, 1000, 30, 0, 500, false}, ""},
		"short stacks":       {shape{20_000, 5, 1000, 30, 0, 5, false}, ""},
		"many functions":     {shape{30_000, 1, 30_000, 30, 0, 1, false}, "?n=1000000"},
		"deep and different": {shape{75, 400, 30_000, 0, 0, 400, false}, "?n=1000000"},
		"long names":         {shape{3000, 1, 3000, 1000, 0, 1, false}, "?n=1000000"},
		"long names, deep":   {shape{20, 200, 1000, 1000, 0, 200, false}, "?n=1000000"},
		"labels":             {shape{2000, 50, 1000, 30, 20, 50, false}, "?tf=x"},
		"by address":         {shape{20_000, 5, 1000, 30, 0, 5, false}, "?g=addresses"},
		"no symbols":         {shape{samples: 20_000, depth: 3, functions: 20_000, distinct: 3, nameless: true}, "?n=1000000"},
	} {
		for _, page := range Pages {
			m := pprofmerge.New()
			var raw bytes.Buffer
			require.NoError(t, test.profile().WriteUncompressed(&raw))
			require.NoError(t, m.Add(raw.Bytes(), nil))
			r, err := m.Reduce(&pprofmerge.View{
				RootFrames: 1000, Labels: true, StringBytes: NameBytes, MaxCost: 1 << 40, Costs: CostsOf(page),
			})
			require.NoError(t, err)
			written := m.Append(nil)
			m = nil
			var size int
			begin := time.Now()
			peak := peakOf(func() {
				p, err := profile.ParseUncompressed(written)
				require.NoError(t, err)
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x/"+page+test.query, http.NoBody)
				NameFunctions(p)
				_, body, err := Render(request, p, page, Additions{}, 1<<30)
				require.NoError(t, err)
				size = len(body)
			})
			assert.LessOrEqual(t, peak, (r.Cost+PageBytes)/4*5, "%s of %s", page, name)
			t.Logf("%-20s %-10s %4d MiB, said to cost %4d MiB, %3.0f %%, %.2f s, a page of %d KiB", name, page, peak>>20, (r.Cost+PageBytes)>>20, 100*float64(peak)/float64(r.Cost+PageBytes), time.Since(begin).Seconds(), size>>10)
		}
	}
}
