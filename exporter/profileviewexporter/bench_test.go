// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// again adds a profile several times, with another time each.
func (h holding) again(tb testing.TB, file, profileType, service string, times int) {
	tb.Helper()
	p, err := profile.ParseData(deliverytest.OwnProfile(tb, file))
	require.NoError(tb, err)
	for i := range times {
		p.TimeNanos = time.Now().Add(-time.Duration(i) * 15 * time.Second).UnixNano()
		var raw bytes.Buffer
		require.NoError(tb, p.WriteUncompressed(&raw))
		h.hold(tb, raw.Bytes(), profileType, map[string]string{"service.name": service})
	}
}

// The services, types and profiles of a fleet: 15 minutes at 15 seconds.
const (
	fleetServices = 200
	fleetTypes    = 5
	fleetProfiles = 60
	// fleetVariants is the number of different profiles of a service and type.
	fleetVariants = 4
)

// fleetProfile returns one of the profiles of a service: 100 of its 400 stacks of 20 frames, from 1500 functions.
func fleetProfile(service, profileType int) *profile.Profile {
	random := rand.New(rand.NewPCG(uint64(service), 0))
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: fmt.Sprint("type", profileType), Unit: "count"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
	}
	for i := range 1500 {
		f := &profile.Function{
			ID: uint64(i + 1), Name: fmt.Sprintf("example.com/service-%d/internal/package%d.(*Type%d).Method%d", service, i%40, i%200, i),
			Filename: fmt.Sprintf("/src/service-%d/internal/package%d/file%d.go", service, i%40, i%200), StartLine: int64(i),
		}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Address: uint64(i) << 8, Line: []profile.Line{{Function: f, Line: int64(i) + 3}}})
	}
	for range 400 {
		s := &profile.Sample{Value: []int64{0}}
		at := random.IntN(20)
		for range 20 { // from a tree of calls
			s.Location = append([]*profile.Location{p.Location[at]}, s.Location...)
			at = (at*4 + 1 + random.IntN(4)) % len(p.Location)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// BenchmarkServerHeld measures how much memory the profiles of a fleet take: 200 services with 5 types, each with 60 profiles. The limit is
// 256 MiB, and none may be evicted. MiB-held is what the store counts, and MiB-heap what the heap has more.
//
//	go -C exporter/profileviewexporter test -run '^$' -bench ServerHeld -benchtime 1x
func BenchmarkServerHeld(b *testing.B) {
	for b.Loop() {
		runtime.GC()
		before := heapObjects()
		d := newHolding(b, 256<<20)
		random := rand.New(rand.NewPCG(1, 1))
		for service := range fleetServices {
			for profileType := range fleetTypes {
				p := fleetProfile(service, profileType)
				all := p.Sample
				for range fleetVariants {
					p.Sample = nil
					for range 100 {
						s := all[random.IntN(len(all))]
						p.Sample = append(p.Sample, &profile.Sample{Location: s.Location, Value: []int64{int64(random.IntN(1000))}})
					}
					var raw bytes.Buffer
					require.NoError(b, p.Compact().WriteUncompressed(&raw))
					for range fleetProfiles / fleetVariants {
						d.hold(b, raw.Bytes(), fmt.Sprint("type", profileType), map[string]string{"service.name": fmt.Sprint("service-", service)})
					}
				}
			}
		}
		profiles, memory := d.store.Held()
		assert.EqualValues(b, fleetServices*fleetTypes*fleetProfiles, profiles)
		b.ReportMetric(float64(memory)/(1<<20), "MiB-held")
		runtime.GC()
		b.ReportMetric(float64(heapObjects()-before)/(1<<20), "MiB-heap")
	}
}

// BenchmarkServerPages measures the cost of what the page asks for. The heap is the project's example of 1.3 MB 25 times, 32 MiB together.
// The hour has 240 profiles of CPU time. Beside them there are 1000 profiles of 1000 services.
//
//	go -C exporter/profileviewexporter test -run '^$' -bench ServerPages -benchmem -cpu 1
func BenchmarkServerPages(b *testing.B) {
	d := newHolding(b, 1<<30)
	d.again(b, "heap.pb.gz", "heap", "heap", 25)
	d.again(b, "cpu.pb.gz", "cpu", "hour", 240)
	for i := range 1000 {
		d.again(b, "mutex.pb.gz", "mutex", fmt.Sprint("service-", i), 1)
	}
	const space = "memory:alloc_space:bytes:space:bytes"
	graph := func(id, service string) request {
		return request{method: "SelectMergeStacktraces", body: fmt.Sprintf(`{"profileTypeID":%q,"labelSelector":"{service_name=\"%s\"}","maxNodes":100000,"end":%d}`,
			id, service, time.Now().UnixMilli())}
	}
	list := request{method: "Series", body: `{"labelNames":["service_name","__profile_type__"]}`}
	functions := request{path: "/functions?" + selecting(space, `{service_name="heap"}`)}
	for _, page := range []struct {
		name     string
		requests []request
	}{
		{"heap", []request{list, graph(space, "heap"), functions}},
		{"heap-list", []request{list}},
		{"heap-flamegraph", []request{graph(space, "heap")}},
		{"heap-functions", []request{functions}},
		{"heap-pprof", []request{{path: "/profiles/heap/heap"}}},
		{"heap-plain", []request{{path: "/plain/functions?" + selecting(space, `{service_name="heap"}`)}}},
		{"hour-flamegraph", []request{graph(cpuID, "hour")}},
		{"hour-series", []request{{method: "SelectSeries", body: `{"profileTypeID":"` + cpuID + `","labelSelector":"{}","step":15}`}}},
		{"hour-pprof", []request{{path: "/profiles/hour/cpu"}}},
		{"profiles", []request{{path: "/profiles"}}},
	} {
		b.Run("page="+page.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range page.requests {
					if w := d.ask(b, r); w.Code != http.StatusOK {
						b.Fatalf("%d: %s", w.Code, w.Body)
					}
				}
			}
		})
	}
}
