// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
)

const (
	manyServices = 1000
	manyTypes    = 4
)

// push sends rounds of profiles of 1000 services with 4 types. The profiles of a service and type are from three pods.
func push(tb testing.TB, d holding, rounds int) {
	tb.Helper()
	for i := range manyTypes {
		p, err := profile.ParseData(deliverytest.OwnProfile(tb, "mutex.pb.gz"))
		require.NoError(tb, err)
		for j := range p.SampleType {
			p.SampleType[j].Type = "type-" + strconv.Itoa(i) + "-" + strconv.Itoa(j)
		}
		pd := deliverytest.Decode(tb, written(tb, p), map[string]any{"service.name": "", "k8s.pod.name": ""})
		attributes := pd.ResourceProfiles().At(0).Resource().Attributes()
		for service := range manyServices {
			attributes.PutStr("service.name", "service-"+strconv.Itoa(service))
			for round := range rounds {
				attributes.PutStr("k8s.pod.name", "pod-"+strconv.Itoa(round%3))
				require.NoError(tb, d.ConsumeProfiles(tb.Context(), pd))
			}
		}
	}
}

// heapInUse returns the size of the heap after a garbage collection.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// The counted memory is the used memory, within a fifth. BenchmarkServerPages measures the time of pages.
func TestServerManyServices(t *testing.T) {
	if testing.Short() {
		t.Skip("pushes 12,000 profiles")
	}
	const limit = 32 << 20
	d := newHolding(t, limit)
	for range 4 { // warm up
		require.NoError(t, d.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "first")))
	}
	before := heapInUse()
	push(t, d, 2)
	taken := heapInUse() - before
	profiles, memory := d.store.Held()
	t.Logf("%d profiles in memory, counted as %d bytes, use %d bytes", profiles, memory, taken)
	assert.Greater(t, memory, int64(limit*9/10), "full")
	assert.LessOrEqual(t, memory, int64(limit))
	assert.LessOrEqual(t, taken, int64(limit*12/10))
	for _, path := range []string{"/", "/profiles", "/profiles/service-999/type-3-1", "/view/service-999/type-3-1/flamegraph"} {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	}
	runtime.KeepAlive(d)
}

// BenchmarkServerPages measures the cost of a request with 3 profiles each of 1000 services with 4 types in memory.
//
//	go test ./exporter/profileviewexporter -run '^$' -bench ServerPages -benchmem -cpu 1
func BenchmarkServerPages(b *testing.B) {
	d := newHolding(b, 256<<20)
	push(b, d, 3)
	handler := d.pages.handler()
	for _, page := range [][2]string{
		{"list", "/"},
		{"json", "/profiles"},
		{"merged", "/profiles/service-999/type-3-1"},
		{"top", "/view/service-999/type-3-1/top"},
		{"flamegraph", "/view/service-999/type-3-1/flamegraph"},
	} {
		b.Run("page="+page[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, page[1], http.NoBody))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

// holding returns an exporter without a listener, and without its exporterhelper.
type holding struct{ *viewExporter }

func newHolding(tb testing.TB, memory int64) holding {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.MaxMemory = memory
	telemetry, err := newTelemetry(exportertest.NewNopSettings(metadata.Type))
	require.NoError(tb, err)
	d := newViewExporter(exportertest.NewNopSettings(metadata.Type), cfg, telemetry)
	d.budget = unlimited()
	d.pages = newPages(d.cfg, d.store, d.budget)
	tb.Cleanup(func() { assert.NoError(tb, d.shutdown(context.WithoutCancel(tb.Context()))) })
	return holding{d}
}

func (h holding) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	return h.consume(ctx, pd)
}
