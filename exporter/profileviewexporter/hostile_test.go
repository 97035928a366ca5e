// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// heapObjects returns the memory of all objects, including garbage.
func heapObjects() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64())
}

// peakOf returns by how much the heap grows at most while f runs.
func peakOf(f func()) int64 {
	runtime.GC()
	before, end, peak := heapObjects(), make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			select {
			case <-end:
				peak <- most
				return
			case <-time.After(time.Millisecond):
				most = max(most, heapObjects()-before)
			}
		}
	}()
	f()
	close(end)
	return <-peak
}

// request is a request of a page or of Pyroscope's API.
type request struct{ path, method, body string }

// hostileRequests are all requests that read samples.
func hostileRequests() (all []request) {
	for _, path := range []string{
		"/profiles/s/samples", "/pgo/s?depth=1000", "/functions?" + selecting(hostileID, "{}"), "/functions?" + selecting(hostileID, "{}") + "&function=nnnnnnnnnn1",
		"/functions?" + selecting(hostileID, `{pod="a"}`) + "&base_query=" + url.QueryEscape(`{pod="b"}`), "/plain/functions?" + selecting(hostileID, "{}"),
		"/download/pprof?" + selecting(hostileID, "{}"), "/download/pgo?" + selecting(hostileID, "{}"), "/download/collapsed?" + selecting(hostileID, "{}"),
		"/download/speedscope?" + selecting(hostileID, "{}"), "/download/svg?" + selecting(hostileID, "{}"),
	} {
		all = append(all, request{path: path})
	}
	one := `{"profileTypeID":"` + hostileID + `","labelSelector":"{}"`
	for method, bodies := range map[string][]string{
		"SelectMergeStacktraces": {one + `}`, one + `,"maxNodes":131072}`, one + `,"format":"PROFILE_FORMAT_PPROF"}`, one + `,"stackTraceSelector":{"callSite":[{"name":"nnnnnnnnnn1"}]}}`},
		"SelectMergeProfile":     {one + `}`},
		"SelectSeries":           {one + `,"step":1,"groupBy":["k0","pod"]}`},
		"Diff":                   {`{"left":` + one + `},"right":` + one + `,"maxNodes":131072}}`},
		"LabelNames":             {`{}`},
		"LabelValues":            {`{"name":"k0"}`},
		"Series":                 {`{}`},
	} {
		for _, body := range bodies {
			all = append(all, request{method: method, body: body})
		}
	}
	return all
}

// For any profile, a request uses no more memory than was reserved, plus the same amount of garbage. The total is that of the profile.
func TestHostileProfiles(t *testing.T) {
	if testing.Short() {
		t.Skip("merges large profiles")
	}
	answered := map[request]bool{} // of at least one profile
	// Each profile is made right before its use: a profile on the heap would let the garbage collector keep as much garbage.
	for name, profileOf := range map[string]func() *profile.Profile{
		"deep stacks":    func() *profile.Profile { return hostile(100, 3000, 1000, 10, 0, 1) },
		"many stacks":    func() *profile.Profile { return hostile(40_000, 5, 1000, 10, 0, 1) },
		"many functions": func() *profile.Profile { return hostile(20_000, 1, 20_000, 10, 0, 1) },
		"a long name":    func() *profile.Profile { return hostile(3000, 10, 10, 1<<20, 0, 1) },
		"many labels":    func() *profile.Profile { return hostile(1000, 10, 100, 10, 100, 1) },
		"many lines":     func() *profile.Profile { return hostile(1000, 10, 10, 10, 0, 10_000) },
	} {
		p := profileOf()
		d := newHolding(t, 512<<20)
		d.holdHostile(t, p, "a")
		d.holdHostile(t, p, "b")
		sum := strconv.Itoa(2 * len(p.Sample))
		p = nil
		for _, r := range hostileRequests() {
			d.budget = memory.New(256<<20, time.Minute)
			var w *httptest.ResponseRecorder
			peak := peakOf(func() {
				if r.method != "" {
					w = d.query(t, r.method, r.body)
				} else {
					w = d.get(t, r.path)
				}
			})
			used, reserved := d.budget.Used()
			t.Logf("%-15s %-80s %d %4d MiB, %4d MiB reserved, an answer of %5d KiB", name, r.path+r.method+r.body, w.Code, peak>>20, reserved>>20, w.Body.Len()>>10)
			assert.Zero(t, used, "%v of %s", r, name)
			assert.LessOrEqual(t, peak, 2*reserved+16<<20, "%v of %s", r, name)
			if w.Code == http.StatusOK {
				answered[r] = true
			}
			require.Contains(t, []int{http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests}, w.Code, "%v of %s: %.200s", r, name, w.Body)
			if r.method == "SelectMergeStacktraces" && w.Code == http.StatusOK && !strings.Contains(r.body, "callSite") {
				var graph struct{ Flamegraph struct{ Total string } }
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &graph))
				if !strings.Contains(r.body, "PPROF") {
					assert.Equal(t, sum, graph.Flamegraph.Total, "%v of %s", r, name)
				}
			}
		}
	}
	assert.Len(t, answered, len(hostileRequests()), "each was answered for a profile")
}

// Requests that are malformed or too large get an error, and hold nothing.
func TestHostileQueries(t *testing.T) {
	d := newHolding(t, 64<<20)
	d.budget = memory.New(1<<30, time.Minute)
	d.holdHostile(t, hostile(100, 10, 100, 10, 2, 1), "a")
	one := `"profileTypeID":"` + hostileID + `"`
	for _, test := range []struct {
		method, body string
		want         int
	}{
		{"SelectMergeStacktraces", `{`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"labelSelector":"{` + strings.Repeat("a", 70<<10) + `"}`, 429},
		{"SelectMergeStacktraces", `{` + one + `,"labelSelector":"{` + strings.Repeat(`a=\"b\",`, 33) + `}"}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"labelSelector":"{a=~\"(abcd{30}){30}\"}"}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"start":2,"end":1}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"maxNodes":"-9223372036854775808"}`, 200},
		{"SelectMergeStacktraces", `{` + one + `,"maxNodes":"9223372036854775807","start":"-9223372036854775808","end":"9223372036854775807"}`, 200},
		{"SelectMergeStacktraces", `{` + one + `,"spanSelector":["x"]}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"spanSelector":["` + strings.Repeat(`0123456789abcdef","`, 200) + `0123456789abcdef"]}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"traceIdSelector":["0123456789abcdef"]}`, 400},
		{"SelectMergeStacktraces", `{` + one + `,"format":"PROFILE_FORMAT_TREE"}`, 501},
		{"SelectMergeStacktraces", `{` + one + `,"async":{"type":"ASYNC_QUERY_TYPE_FORCE"}}`, 501},
		{"SelectMergeStacktraces", `{` + one + `,"profileIdSelector":["7c9e6679-7425-40de-944b-e07fc1f90ae7"]}`, 501},
		{"SelectSeries", `{` + one + `,"step":1e-300,"groupBy":["k0"]}`, 200},
		{"SelectSeries", `{` + one + `,"step":-1}`, 200},
		{"SelectSeries", `{` + one + `,"step":1e300}`, 200},
		{"SelectSeries", `{` + one + `,"step":"NaN","limit":"-1"}`, 200},
		{"SelectSeries", `{` + one + `,"step":1,"start":"-9223372036854775808","end":"9223372036854775807"}`, 200},
		{"LabelValues", `{}`, 400},
		{"LabelNames", `{"matchers":["{a=~\"x\"}"` + strings.Repeat(`,"{a=~\"x\"}"`, 8) + `]}`, 400},
		{"Diff", `{}`, 400},
		{"SelectHeatmap", `{}`, 501},
		{"AnalyzeQuery", `{}`, 501},
	} {
		w := d.query(t, test.method, test.body)
		assert.Equal(t, test.want, w.Code, "%s %.200s: %.300s", test.method, test.body, w.Body)
		used, _ := d.budget.Used()
		assert.Zero(t, used)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/querier.v1.QuerierService/ProfileTypes", http.NoBody)
	assert.Equal(t, http.StatusMethodNotAllowed, d.serve(r).Code)
	assert.Equal(t, http.StatusNotImplemented, d.query(t, "None", "{}").Code)
	assert.Equal(t, http.StatusRequestURITooLong, d.get(t, "/functions?query="+strings.Repeat("a", maxQuery)).Code)
	assert.Empty(t, d.working)
	assert.Empty(t, d.requests)
}

// Without memory, a request returns an error that says whether a retry can succeed.
func TestServerBudget(t *testing.T) {
	d := newHolding(t, 4<<20)
	d.holdHostile(t, hostile(1000, 10, 500, 10, 0, 1), "a")
	d.budget = memory.New(4<<20, time.Millisecond)
	others := budgettest.Hold(t, d.budget, 4<<20)
	paths := []string{"/profiles/s/samples", "/pgo/s", "/functions?" + selecting(hostileID, "{}"), "/download/svg?" + selecting(hostileID, "{}")}
	const graph = `{"profileTypeID":"` + hostileID + `"}`
	for _, path := range append([]string{"/plain", "/profiles"}, paths...) {
		w := d.get(t, path)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, path)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	w := d.query(t, "SelectMergeStacktraces", graph)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	others.Release()
	d.budget = memory.New(leastWork, time.Millisecond)
	for _, path := range paths {
		assert.Equal(t, http.StatusUnprocessableEntity, d.get(t, path).Code, path)
	}
	assert.Equal(t, http.StatusTooManyRequests, d.query(t, "SelectMergeStacktraces", graph).Code)
	used, _ := d.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.working)

	d.budget = memory.New(100, 0)
	require.ErrorContains(t, d.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "s")), "exceeds the memory budget")
}

// Work ends when the client has disconnected, and releases its memory.
func TestServerClientLeaves(t *testing.T) {
	d := newHolding(t, 64<<20)
	d.holdHostile(t, hostile(20_000, 20, 1000, 10, 0, 1), "a")
	d.budget = memory.New(1<<30, time.Minute)
	for _, path := range []string{"/profiles/s/samples?window=1h", "/pgo/s", "/functions?" + selecting(hostileID, "{}")} {
		ctx, leave := context.WithCancel(t.Context())
		others := budgettest.Hold(t, d.budget, 1<<30-leastWork)
		left := make(chan struct{})
		go func() { // It has begun, and waits for memory.
			defer close(left)
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
				d.serve(httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
			})
		}()
		require.Eventually(t, func() bool { used, _ := d.budget.Used(); return used == 1<<30 }, deliverytest.Patience, time.Millisecond)
		assert.Len(t, d.working, 1)
		leave()
		<-left
		assert.Empty(t, d.working)
		others.Release()
		used, _ := d.budget.Used()
		assert.Zero(t, used)
	}
}

// A shutdown does not wait for long requests.
func TestServerShutdownWhileAnswering(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	d.wait = time.Hour
	memory := memory.New(1<<30, time.Hour)
	require.NoError(t, d.start(t.Context(), budgettest.NewHost(memory)))
	d.holdHostile(t, hostile(10, 10, 10, 10, 0, 1), "a")
	d.working <- struct{}{} // one is being drawn
	others := budgettest.Hold(t, memory, 1<<30)
	ended := make(chan error)
	go func() { // one waits for memory
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+d.cfg.HTTP.NetAddr.Endpoint+"/functions?"+selecting(hostileID, "{}"), http.NoBody)
		if err == nil {
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(d.working) == 2 }, deliverytest.Patience, time.Millisecond)
	begin := time.Now()
	require.NoError(t, d.shutdown(t.Context()))
	assert.Less(t, time.Since(begin), 10*shutdownWait, "the request can wait for an hour")
	<-ended
	require.Eventually(t, func() bool { return len(d.working) == 1 }, deliverytest.Patience, time.Millisecond)
	others.Release()
	used, _ := memory.Used()
	assert.Zero(t, used)
	d.http = nil // it was shut down
	http.DefaultClient.CloseIdleConnections()
}

func TestServerHosts(t *testing.T) {
	loopback, other := &net.TCPAddr{IP: net.IPv6loopback}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}
	for _, test := range []struct {
		endpoint string
		listener net.Addr
		allowed  []string
		want     map[string]bool
	}{
		{"localhost:4041", loopback, nil, map[string]bool{
			"localhost": true, "LOCALHOST:4041": true, "localhost.": true, "127.0.0.1:9": true, "[::1]:4041": true, "[::1]": true,
			"evil.example": false, "evil.example:4041": false, "": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		}},
		{"box:4041", loopback, nil, map[string]bool{"box": true, "localhost": true, "evil.example": false}},
		{"10.0.0.1:4041", other, nil, map[string]bool{"evil.example": true}},
		{"/run/socket", &net.UnixAddr{Name: "/run/socket"}, nil, map[string]bool{"evil.example": true}},
		{"localhost:4041", loopback, []string{"*"}, map[string]bool{"evil.example": true}},
		{"localhost:4041", loopback, []string{"Profiles.example"}, map[string]bool{"profiles.example:80": true, "localhost": false}},
		{"10.0.0.1:4041", other, []string{"profiles.example"}, map[string]bool{"profiles.example": true, "evil.example": false}},
	} {
		d := newHolding(t, 1<<20)
		d.cfg.HTTP.NetAddr.Endpoint, d.cfg.AllowedHosts = test.endpoint, test.allowed
		d.hosts = allowedHosts(d.cfg, test.listener)
		for host, want := range test.want {
			for _, path := range []string{"/", "/profiles", "/nowhere", "/functions"} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Host = host
				w := httptest.NewRecorder()
				d.handler().ServeHTTP(w, r)
				assert.Equal(t, want, w.Code != http.StatusForbidden, "%s of %s at %v", path, host, test.listener)
				if !want {
					assert.Contains(t, w.Body.String(), "allowed_hosts")
				}
			}
		}
	}
	s := newServing(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	request.Host = "evil.example"
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
}

// Long names are cut, so that the size of the list is limited.
func TestServerLongNames(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"a"}, 1), map[string]any{"service.name": strings.Repeat("é", 100_000)})
	_, body := s.get(t, "/plain")
	assert.Less(t, len(body), 30_000)
	assert.Equal(t, []string{"a"}, s.types(t, strings.Repeat("é", 256)))
}

// The labels of a resource are read once, however many of its profiles differ in what is no label.
func TestLabelsOfResourceAreReadOnce(t *testing.T) {
	const profiles, labels = 300, 5000
	h := newHolding(t, 64<<20)
	pd, attributes := atTimes(profiles)
	for i, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		p.SetPeriod(int64(i) + 1)
	}
	many := map[string]any{}
	for i := range labels {
		many["k"+strconv.Itoa(i)] = "v"
	}
	require.NoError(t, attributes.FromRaw(many))
	require.NoError(t, h.ConsumeProfiles(t.Context(), pd))
	for _, query := range []string{"Series", "LabelNames"} {
		allocated := memorytest.Allocated(func() { assert.Equal(t, http.StatusOK, h.query(t, query, "{}").Code) })
		assert.Less(t, allocated, int64(profiles*labels*8), query)
	}
}

// Lists of very many sample types are limited, and need what is reserved.
func TestListsOfManySampleTypes(t *testing.T) {
	const types, profiles = 3000, 5
	h := newHolding(t, 64<<20)
	for i := range profiles {
		p := &profile.Profile{Sample: []*profile.Sample{{}}}
		for j := range types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: strconv.Itoa(i*types + j), Unit: "u"})
			p.Sample[0].Value = append(p.Sample[0].Value, 1)
		}
		h.holdHostile(t, p, strconv.Itoa(i))
	}
	for name, get := range map[string]func() *httptest.ResponseRecorder{
		"ProfileTypes": func() *httptest.ResponseRecorder { return h.query(t, "ProfileTypes", "{}") },
		"plain": func() *httptest.ResponseRecorder {
			return h.get(t, "/plain?query="+url.QueryEscape(`{a!="`+strings.Repeat("x", 7000)+`"}`))
		},
	} {
		h.budget = memory.New(256<<20, time.Second)
		var w *httptest.ResponseRecorder
		peak := peakOf(func() { w = get() })
		assert.Equal(t, http.StatusOK, w.Code, name)
		_, reserved := h.budget.Used()
		assert.Less(t, peak, reserved, name)
		assert.LessOrEqual(t, strings.Count(w.Body.String(), `"ID"`), maxValues)
	}
}
