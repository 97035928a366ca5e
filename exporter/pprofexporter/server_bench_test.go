// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
)

const (
	manyServices = 1000
	manyTypes    = 4
)

// fill adds rounds of profiles of 1000 services with 4 types to a store.
func fill(tb testing.TB, limits recent.Limits, rounds int) *recent.Store {
	tb.Helper()
	store := recent.New(limits, func(recent.Reason) {})
	payload := recent.Compress(ownProfile(tb, "mutex.pb.gz"))
	for round := range rounds {
		for service := range manyServices {
			name := "service-" + strconv.Itoa(service)
			for i := range manyTypes {
				at := day.Add(time.Duration(round) * time.Second)
				attributes := map[string]string{"service.name": name, "k8s.pod.name": name + "-" + strconv.Itoa(round%3)}
				store.Add(&recent.Entry{
					Service: name, Type: "type-" + strconv.Itoa(i), Instance: instanceOf(attributes), Attributes: attributes,
					Begin: at, End: at, Compressed: bytes.Clone(payload), Inflated: 1 << 16,
				})
			}
		}
	}
	return store
}

// heapInUse is what the program holds, garbage collected.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// What is counted as memory is what it takes, within a fifth, and the list of all series stays quick.
func TestServerManyServices(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 64 MiB")
	}
	const limit = 64 << 20
	before := heapInUse()
	store := fill(t, recent.Limits{Memory: limit, PerSeries: 100}, 5)
	taken := heapInUse() - before
	profiles, memory := store.Held()
	t.Logf("%d profiles held, counted as %d bytes, which take %d", profiles, memory, taken)
	assert.Greater(t, memory, int64(limit*9/10), "full")
	assert.LessOrEqual(t, memory, int64(limit))
	assert.LessOrEqual(t, taken, int64(limit*12/10))

	cfg := newDefaultServerConfig()
	handler := newPages(&cfg, store).handler()
	for _, path := range []string{"/", "/profiles", "/profiles/service-999/type-1", "/view/service-999/type-1/flamegraph"} {
		begin := time.Now()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code, path)
		assert.Less(t, time.Since(begin), time.Second, path)
	}
	runtime.KeepAlive(store)
}

// go test ./exporter/pprofexporter -run '^$' -bench ServerPages.
func BenchmarkServerPages(b *testing.B) {
	store := fill(b, recent.Limits{Memory: 64 << 20, PerSeries: 100}, 3)
	cfg := newDefaultServerConfig()
	handler := newPages(&cfg, store).handler()
	for name, path := range map[string]string{
		"list": "/", "json": "/profiles", "merged": "/profiles/service-999/type-1", "flamegraph": "/view/service-999/type-1/flamegraph",
	} {
		b.Run("page="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
