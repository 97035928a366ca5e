// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
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
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/budgettest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// hostile returns a profile of samples with random stacks. All values are 1.
func hostile(samples, depth, functions, nameBytes, labels, lines int) *profile.Profile {
	random := rand.New(rand.NewPCG(1, 2))
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, PeriodType: &profile.ValueType{}}
	name := strings.Repeat("n", nameBytes)
	for i := range functions {
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: strconv.Itoa(i), Filename: strconv.Itoa(i), StartLine: 1}
		l := &profile.Location{ID: f.ID, Line: make([]profile.Line, lines)}
		for j := range l.Line {
			l.Line[j] = profile.Line{Function: f, Line: int64(j)}
		}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	}
	for i := range samples {
		s := &profile.Sample{Value: []int64{1}, Location: make([]*profile.Location, depth)}
		for j := range s.Location {
			s.Location[j] = p.Location[random.IntN(functions)]
		}
		if labels > 0 {
			s.Label = map[string][]string{}
			for j := range labels {
				s.Label["k"+strconv.Itoa(j)] = []string{strconv.Itoa(i)}
			}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// held returns an entry of the service s and the type samples.
func held(tb testing.TB, p *profile.Profile, pod string) *recent.Entry {
	tb.Helper()
	var raw bytes.Buffer
	require.NoError(tb, p.WriteUncompressed(&raw))
	return &recent.Entry{
		Service: "s", Type: "samples", CPU: true, Compressed: recent.Compress(raw.Bytes()), Inflated: raw.Len(),
		Begin: day, End: day, Attributes: []recent.Attribute{{Name: "pod", Value: pod}},
	}
}

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

// total finds the total of all values on a page.
var total = regexp.MustCompile(`"Total":(-?\d+)|of (\d+) total`)

// For any profile, a page uses no more memory than was reserved, plus the same amount of garbage. Its total is that of the
// profile.
func TestServerHostileProfiles(t *testing.T) {
	if testing.Short() {
		t.Skip("draws large profiles")
	}
	drawn := map[string]bool{} // by path: at least one profile had a page
	// Each profile is made right before its use: a profile on the heap would let the garbage collector keep as much garbage.
	for name, profileOf := range map[string]func() *profile.Profile{
		"deep stacks":    func() *profile.Profile { return hostile(300, 3000, 1000, 10, 0, 1) },
		"many stacks":    func() *profile.Profile { return hostile(80_000, 5, 1000, 10, 0, 1) },
		"many functions": func() *profile.Profile { return hostile(50_000, 1, 50_000, 10, 0, 1) },
		"a long name":    func() *profile.Profile { return hostile(3000, 10, 1000, 4<<20, 0, 1) },
		"many labels":    func() *profile.Profile { return hostile(1000, 10, 100, 10, 100, 1) },
		"many lines":     func() *profile.Profile { return hostile(1000, 10, 10, 10, 0, 50_000) },
	} {
		p := profileOf()
		d := newHolding(t, 256<<20)
		require.True(t, d.store.Add(held(t, p, "a")))
		require.True(t, d.store.Add(held(t, p, "b")))
		sum := strconv.Itoa(2 * len(p.Sample))
		p = nil
		for path, want := range map[string]string{
			"/view/s/samples/flamegraph": sum,
			"/view/s/samples/both":       sum,
			"/view/s/samples/top":        sum,
			"/view/s/samples/peek":       sum,
			"/view/s/samples/top?tf=1":   "",
			"/view/s/samples/flamegraph?g=addresses&resource.pod=a&base_resource.pod=b": "",
			"/profiles/s/samples":    "",
			"/collapsed/s/samples":   "",
			"/speedscope/s/samples":  "",
			"/svg/s/samples":         "",
			"/view/s/samples/labels": "", "/view/s/samples/labels?by=label.k1": "", "/view/s/samples/functions": "", "/view/s/samples/functions?function=nnnnnnnnnn": "",
			"/view/s/samples/compare?resource.pod=a&base_resource.pod=b": "",
			"/pgo/s?depth=1000": "",
		} {
			if strings.Contains(path, "tf=") && name != "many labels" || strings.HasSuffix(path, "/both") && name != "many functions" {
				continue
			}
			w := httptest.NewRecorder()
			d.pages.budget = memory.New(1<<30, time.Minute)
			peak := peakOf(func() {
				d.pages.handler().ServeHTTP(w, browserRequest(t, path))
			})
			used, reserved := d.pages.budget.Used()
			t.Logf("%-15s %-80s %4d MiB, %4d MiB reserved, a page of %5d KiB, %s stacks left out, %s cut", name, path, peak>>20, reserved>>20,
				w.Body.Len()>>10, w.Header().Get(stacksLeftOutHeader), w.Header().Get(stacksCutHeader))
			assert.Zero(t, used, "%s of %s", path, name)
			assert.LessOrEqual(t, peak, 2*reserved+16<<20, "%s of %s", path, name)
			if w.Code == http.StatusOK {
				drawn[path] = true
			}
			if want == "" {
				allowed := []int{http.StatusOK, http.StatusUnprocessableEntity}
				if strings.Contains(path, "function=") {
					allowed = append(allowed, http.StatusNotFound) // Not every profile has the function.
				}
				require.Contains(t, allowed, w.Code, "%s of %s: %.200s", path, name, w.Body)
				continue
			}
			require.Equal(t, http.StatusOK, w.Code, "%s of %s: %.200s", path, name, w.Body)
			found := total.FindStringSubmatch(w.Body.String())
			require.NotNil(t, found, "%s of %s", path, name)
			assert.Equal(t, want, found[1]+found[2], "%s of %s", path, name)
		}
	}
	assert.Len(t, drawn, 16, "each path was drawn for a profile")
}

// Names from senders are escaped on every page, and cannot change its links.
func TestServerHostileNames(t *testing.T) {
	const evil = `"'></a></title></script><script>alert(1)</script>{{.}}`
	s := newServing(t, func(cfg *Config) { cfg.TraceURL = "https://traces.example/{trace_id}" })
	for i, pod := range []string{evil, "b"} {
		p := deliverytest.Parsed(t, made(t, time.Now().Add(-time.Duration(i)*7*time.Minute), []string{evil}, 5))
		p.Function[0].Name, p.Function[0].Filename = evil, evil
		p.Mapping = []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 20, File: "/" + evil}}
		p.Location = append(p.Location, &profile.Location{ID: 2, Mapping: p.Mapping[0], Address: 0x1000})
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location[1:], Value: []int64{6}, Label: map[string][]string{"trace_id": {traceA}, evil: {evil}}})
		s.post(t, written(t, p), map[string]any{"service.name": evil, evil: pod})
	}
	series := url.PathEscape(evil) + "/" + url.PathEscape(s.types(t, evil)[0])
	query := url.Values{"resource." + evil: {evil}}.Encode()
	paths := []string{
		"/", "/?q=" + url.QueryEscape(evil), "/?" + query, "/trace/" + traceA, "/trace/" + url.PathEscape(evil),
		"/profiles/" + url.PathEscape(evil) + "/none", "/?" + url.QueryEscape(evil) + "=x", "/diff/" + series + "?from=-5m&base_until=-5m",
	}
	for _, page := range []string{"flamegraph", "both", "top", "peek"} {
		paths = append(paths, "/view/"+series+"/"+page, "/view/"+series+"/"+page+"?"+query, "/view/"+series+"/"+page+"?label."+url.QueryEscape(evil)+"="+url.QueryEscape(evil), "/view/"+series+"/"+page+"?f="+url.QueryEscape(regexp.QuoteMeta(evil)))
	}
	for _, page := range []string{
		"labels", "labels?by=label." + url.QueryEscape(evil), "labels?by=resource." + url.QueryEscape(evil), "labels?" + query, "functions",
		"functions?function=" + url.QueryEscape(evil), "functions?q=" + url.QueryEscape(evil), "functions?sort=" + url.QueryEscape(evil), "compare",
		"compare?base_service=" + url.QueryEscape(evil) + "&base_" + query, "compare?base_label." + url.QueryEscape(evil) + "=" + url.QueryEscape(evil),
	} {
		paths = append(paths, "/view/"+series+"/"+page)
	}
	for _, path := range paths {
		response, body := s.get(t, path, "Accept", "text/html")
		require.Contains(t, response.Header.Get("Content-Type"), "text/html", path)
		assert.NotContains(t, string(body), "<script>alert", path)
		assert.NotContains(t, string(body), evil, path)
		assert.NotContains(t, string(body), "javascript:", path)
		assert.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
	}
	for _, path := range []string{"/collapsed/", "/speedscope/", "/svg/"} {
		response, body := s.get(t, path+series)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		assert.NotContains(t, response.Header.Get("Content-Type"), "html")
		assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		assert.Contains(t, response.Header.Get("Content-Disposition"), "attachment")
	}
}

// Expressions that would take too long for the names of a profile are refused, before the page is drawn.
func TestServerHostileExpressions(t *testing.T) {
	d := newHolding(t, 256<<20)
	d.pages.budget = memory.New(1<<30, time.Minute)
	require.True(t, d.store.Add(held(t, hostile(50_000, 1, 50_000, 60, 0, 1), "a")))
	for query, want := range map[string]int{
		"?f=n":                  http.StatusOK,
		"?f=n.*&h=x%2B&i=[abc]": http.StatusOK,
		"?f=(?:.*){600}%00":     http.StatusUnprocessableEntity,
		"?f=(?:.*){120}%00&i=(?:.*){120}%00&h=(?:.*){120}%00&s=(?:.*){120}%00&sf=(?:.*){120}%00&prunefrom=(?:.*){120}%00": http.StatusBadRequest,
	} {
		for _, page := range []string{"flamegraph", "both", "top", "peek"} {
			w := httptest.NewRecorder()
			d.pages.handler().ServeHTTP(w, browserRequest(t, "/view/s/samples/"+page+query))
			assert.Equal(t, want, w.Code, "%s of %s: %.300s", query, page, w.Body)
		}
	}
}

func TestServerSaysWhatIsLeftOut(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.MaxPageMemory, cfg.MaxDepth = 20_000, 4 })
	s.post(t, written(t, hostile(100, 10, 50, 10, 0, 1)), map[string]any{"service.name": "s"})
	for _, page := range []string{"flamegraph", "both", "top", "peek"} {
		response, body := s.get(t, "/view/s/samples/"+page)
		require.Equal(t, http.StatusOK, response.StatusCode)
		n, err := strconv.Atoi(response.Header.Get(stacksLeftOutHeader))
		require.NoError(t, err)
		assert.Equal(t, "100", response.Header.Get(stacksCutHeader))
		assert.Contains(t, string(body), fmt.Sprintf("The lightest %d of 100 stacks are drawn as one", n), page)
		assert.Contains(t, string(body), "The middle of 100 stacks is drawn as one frame", page)
		assert.Contains(t, string(body), pprofmerge.OtherFunction, page)
	}
}

// Every page says how many profiles it leaves out, of both sides of a comparison.
func TestServerSaysWhichProfilesAreLeftOut(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.MaxRequestSize = 250 })
	for _, service := range []string{"s", "other"} {
		for i := range 4 {
			s.post(t, made(t, day.Add(time.Duration(i)*time.Second), []string{"samples"}, 1), map[string]any{"service.name": service})
		}
	}
	response, _ := s.get(t, "/profiles/s/samples")
	one, err := strconv.Atoi(response.Header.Get(leftOutHeader))
	require.NoError(t, err)
	for page, want := range map[string]int{
		"flamegraph": one, "functions": one, "labels": one, "labels?by=resource.service.name": one, "compare": one,
		"compare?base_service=other": 2 * one, "flamegraph?base_service=other": 2 * one,
	} {
		response, body := s.get(t, "/view/s/samples/"+page)
		require.Equal(t, http.StatusOK, response.StatusCode, page)
		assert.Equal(t, strconv.Itoa(want), response.Header.Get(leftOutHeader), page)
		assert.Contains(t, string(body), fmt.Sprintf("The %d oldest profiles are left out (max_request_size is 250 bytes).", want), page)
	}
}

// Without memory, a request returns an error that says whether a retry can succeed.
func TestServerBudget(t *testing.T) {
	d := newHolding(t, 1<<20)
	require.True(t, d.store.Add(held(t, hostile(100, 10, 50, 10, 0, 1), "a")))
	d.pages.budget = memory.New(4<<20, time.Millisecond)
	others, err := d.pages.budget.Reserve(t.Context(), 4<<20)
	require.NoError(t, err)
	answer := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	for _, path := range []string{"/", "/profiles", "/profiles/s/samples", "/pgo/s", "/view/s/samples/top"} {
		w := answer(path)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, path)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	others.Release()
	d.pages.budget = memory.New(leastWork, time.Millisecond)
	for _, path := range []string{"/profiles/s/samples", "/pgo/s", "/view/s/samples/top"} {
		w := answer(path)
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code, path)
		assert.Contains(t, w.Body.String(), "select a shorter time", path)
	}
	used, _ := d.pages.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.pages.merging)

	d.budget = memory.New(100, 0)
	require.ErrorContains(t, d.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "s")), "exceeds the memory budget")
}

// Work ends when the client has disconnected, and releases its memory.
func TestServerClientLeaves(t *testing.T) {
	d := newHolding(t, 64<<20)
	require.True(t, d.store.Add(held(t, hostile(20_000, 20, 1000, 10, 0, 1), "a")))
	d.pages.budget = memory.New(1<<30, time.Minute)
	for _, path := range []string{"/profiles/s/samples?window=1h", "/pgo/s", "/view/s/samples/flamegraph"} {
		ctx, leave := context.WithCancel(t.Context())
		others, err := d.pages.budget.Reserve(ctx, 1<<30-leastWork)
		require.NoError(t, err)
		left := make(chan struct{})
		go func() { // It has begun, and waits for memory.
			defer close(left)
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
				d.pages.handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
			})
		}()
		require.Eventually(t, func() bool { used, _ := d.pages.budget.Used(); return used == 1<<30 }, deliverytest.Patience, time.Millisecond)
		assert.Len(t, d.pages.merging, 1)
		leave()
		<-left
		assert.Empty(t, d.pages.merging)
		others.Release()
		used, _ := d.pages.budget.Used()
		assert.Zero(t, used)
	}
}

// A shutdown does not wait for long requests.
func TestServerShutdownWhileAnswering(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	d.cfg.ConcurrencyWait = time.Hour
	memory := memory.New(1<<30, time.Hour)
	require.NoError(t, d.start(t.Context(), budgettest.NewHost(memory)))
	require.True(t, d.store.Add(held(t, hostile(10, 10, 10, 10, 0, 1), "a")))
	d.pages.merging <- struct{}{} // one is being drawn
	others, err := memory.Reserve(t.Context(), 1<<30)
	require.NoError(t, err)
	ended := make(chan error)
	go func() { // one waits for memory
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+d.cfg.HTTP.NetAddr.Endpoint+"/view/s/samples/top", http.NoBody)
		if err == nil {
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(d.pages.merging) == 2 }, deliverytest.Patience, time.Millisecond)
	begin := time.Now()
	require.NoError(t, d.shutdown(t.Context()))
	assert.Less(t, time.Since(begin), 10*shutdownWait, "the request can wait for an hour")
	<-ended
	require.Eventually(t, func() bool { return len(d.pages.merging) == 1 }, deliverytest.Patience, time.Millisecond)
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
		d.pages.hosts = allowedHosts(d.cfg, test.listener)
		for host, want := range test.want {
			for _, path := range []string{"/", "/profiles", "/nowhere", "/view/s/samples/top"} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Host = host
				w := httptest.NewRecorder()
				d.pages.handler().ServeHTTP(w, r)
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
	s.post(t, made(t, day, []string{"a"}, 1), map[string]any{"service.name": strings.Repeat("é", 100_000)})
	_, body := s.get(t, "/")
	assert.Less(t, len(body), 30_000)
	assert.Equal(t, []string{"a"}, s.types(t, strings.Repeat("é", maxSegment/2)))
}
