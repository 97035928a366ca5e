// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

func TestServerViews(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	s.post(t, made(t, day, []string{"samples"}, 5), map[string]any{"service.name": "a/b"})
	s.post(t, made(t, day, []string{"samples"}, 9), map[string]any{"service.name": "other"})
	for _, page := range []string{"flamegraph", "top", "peek"} {
		response, body := s.get(t, "/"+page+"/a%2Fb/samples?window=1h")
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		assert.Equal(t, "/p/view/a%2Fb/samples/"+page, response.Request.URL.EscapedPath(), "below the prefix")
		assert.Equal(t, "window=1h", response.Request.URL.RawQuery)
		assert.Contains(t, string(body), "main.work")
		assert.Equal(t, policyViewer, response.Header.Get("Content-Security-Policy"))
		tag := response.Header.Get("ETag")
		response, _ = s.get(t, "/"+page+"/a%2Fb/samples?window=1h", "If-None-Match", tag)
		assert.Equal(t, http.StatusNotModified, response.StatusCode)
		assert.Equal(t, policyViewer, response.Header.Get("Content-Security-Policy"), "browsers use it for the cached page")
	}
	response, body := s.get(t, "/diff/other/samples?base_service=a%2Fb")
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	response, body = s.get(t, "/view/other/samples/top?base_service=a%2Fb")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, string(body), `"Cum":4,`, "9 less 5")
	for path, want := range map[string]int{
		"/diff/other/samples":                                     http.StatusBadRequest,
		"/diff/other/samples?base_service=none":                   http.StatusNotFound,
		"/view/other/samples/source?f=.":                          http.StatusNotFound,
		"/view/other/samples/disasm?f=.":                          http.StatusNotFound,
		"/view/other/samples/saveconfig?config=x":                 http.StatusNotFound,
		"/view/other/samples/graph":                               http.StatusNotFound,
		"/view/other/samples/download":                            http.StatusNotFound,
		"/view/other/samples/top?n=x":                             http.StatusBadRequest,
		"/view/other/samples/flamegraph?window=x":                 http.StatusBadRequest,
		"/view/other/samples/flamegraph?base_from=x":              http.StatusBadRequest,
		"/view/other/samples/top?f=(a{100}){10}":                  http.StatusBadRequest,
		"/view/other/samples/top?tf=" + strings.Repeat("a", 3000): http.StatusBadRequest,
		"/view/other/samples/top?" + strings.Repeat("a=b&", 3000): http.StatusRequestURITooLong,
		"/source":       http.StatusNotFound,
		"/debug/pprof/": http.StatusNotFound,
	} {
		response, _ := s.get(t, path)
		assert.Equal(t, want, response.StatusCode, path)
	}
}

// The links of google/pprof's menus keep the parameters of the page without JavaScript too. The link that resets keeps those that are
// not google/pprof's.
func TestServerMenusKeepParameters(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"samples", "other"}, 1, 2), map[string]any{"service.name": "s", "pod": "p"})
	for _, page := range []string{"flamegraph", "both", "top", "peek"} {
		path := "/view/s/" + s.types(t, "s")[0] + "/" + page + "?f=main&from=-15m&layout=flame&resource.pod=p&si=samples&p=main"
		_, body := s.get(t, path)
		for _, test := range []struct{ tag, want string }{
			{`href="([^"]*)">Reset<`, "from=-15m&layout=flame&resource.pod=p"},
			{`href="([^"]*)" id="topbtn"`, "f=main&from=-15m&layout=flame&resource.pod=p&si=samples"},
			{`href="([^"]*)" id="focus"`, "f=main&from=-15m&layout=flame&resource.pod=p&si=samples"},
			{`href="([^"]*)" id="sampletype-other"`, "f=main&from=-15m&layout=flame&resource.pod=p&si=other"},
		} {
			link := regexp.MustCompile(test.tag).FindStringSubmatch(string(body))
			require.NotNil(t, link, "%s of %s", test.tag, page)
			response, next := s.follow(t, s.url+path, html.UnescapeString(link[1]))
			assert.Equal(t, http.StatusOK, response.StatusCode, next)
			assert.Equal(t, test.want, response.Request.URL.RawQuery, "%s of %s", test.tag, page)
		}
	}
	_, body := s.get(t, "/view/s/"+s.types(t, "s")[0]+"/peek")
	assert.Contains(t, string(body), `<a href="?si=other"`)
	assert.Contains(t, string(body), `href="?">Reset<`)
}

// goProgram returns a CPU profile of a Go program with several functions.
func goProgram(start int64) *profile.Profile {
	mapping := &profile.Mapping{ID: 1, Start: 1, Limit: 1 << 30, HasFunctions: true}
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10_000_000,
		TimeNanos:     day.UnixNano(),
		DurationNanos: int64(time.Second),
		Mapping:       []*profile.Mapping{mapping},
	}
	var stack []*profile.Location
	for i, name := range []string{"main.add", "main.sum", "main.main", "runtime.main", "runtime.goexit", "a", "b"} {
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: "main.go", StartLine: start * int64(3+4*i)}
		l := &profile.Location{ID: uint64(i + 1), Mapping: mapping, Address: uint64(0x1000 + i), Line: []profile.Line{{Function: f, Line: int64(4 + 4*i)}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		stack = append(stack, l)
	}
	p.Sample = []*profile.Sample{{
		Location: stack, Value: []int64{1000, 10_000_000_000}, Label: map[string][]string{"user": {"somebody"}},
	}}
	return p
}

func TestServerPGO(t *testing.T) {
	s := newServing(t, nil)
	response, body := s.get(t, "/pgo/s")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, string(body), `there is no CPU profile of the service "s"`)
	s.post(t, deliverytest.OwnProfile(t, "heap.pb.gz"), map[string]any{"service.name": "s"})
	response, _ = s.get(t, "/pgo/s")
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "a heap profile is none")
	s.post(t, written(t, goProgram(0)), map[string]any{"service.name": "flat"})
	response, body = s.get(t, "/pgo/flat")
	assert.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
	assert.Contains(t, string(body), "start line")

	for i := range 3 {
		p := goProgram(1)
		p.TimeNanos += int64(i)
		s.post(t, written(t, p), map[string]any{"service.name": "s"})
	}
	response, body = s.get(t, "/pgo/s?window=1h")
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Equal(t, `attachment; filename="default.pgo"`, response.Header.Get("Content-Disposition"))
	p := deliverytest.Parsed(t, body)
	require.Len(t, p.Sample, 1)
	assert.Equal(t, []int64{3000, 30_000_000_000}, p.Sample[0].Value)
	assert.Len(t, p.Sample[0].Location, defaultDepth)
	assert.Empty(t, p.Sample[0].Label)
	assert.EqualValues(t, 3, p.Function[0].StartLine)
	_, body = s.get(t, "/pgo/s?depth=2")
	assert.Len(t, deliverytest.Parsed(t, body).Sample[0].Location, 2)
	for _, depth := range []string{"0", "-1", "x", "1001"} {
		response, _ = s.get(t, "/pgo/s?depth="+depth)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, depth)
	}
}

// The real go build reads the file, and inlines its hot functions.
func TestServerPGOBuilds(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, written(t, goProgram(1)), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/pgo/s")
	directory := t.TempDir()
	// Without a profile, add is too large to be inlined.
	source := "package main\n\nfunc add(a []int, n int) int { // line 3\n\ta[n&7] += n*n\n" +
		"\tfor i := range a {\n\t\tif a[i] > n { a[i] -= n*3 } else if a[i] < -n { a[i] += n*5 } else { a[i] ^= n }\n" +
		"\t\ta[(i+1)&7] += a[i]>>3; a[(i+2)&7] ^= a[i]<<1; a[(i+3)&7] -= a[i]*7; a[(i+4)&7] += a[i]/3\n\t}\n\treturn a[n&7]\n}\n\n" +
		"func sum() (total int) {\n\ta := make([]int, 8)\n\tfor i := range 10 {\n\t\ttotal += add(a, i)\n\t}\n\treturn total\n}\n\n" +
		"func main() { println(sum()) }\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "main.go"), []byte(source), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "go.mod"), []byte("module example.com/small\n\ngo 1.26\n"), 0o600))

	p := deliverytest.Parsed(t, body)
	for _, f := range p.Function { // where the calls of this program are
		switch f.Name {
		case "main.add":
			f.StartLine = 3
		case "main.sum":
			f.StartLine = 12
		}
	}
	for _, l := range p.Location {
		switch l.Line[0].Function.Name {
		case "main.add":
			l.Line[0].Line = 6
		case "main.sum":
			l.Line[0].Line = 15
		}
	}
	s.post(t, written(t, p), map[string]any{"service.name": "small"})
	response, body := s.get(t, "/pgo/small")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "default.pgo"), body, 0o600))
	inlined := func(flag string) bool {
		log := goTool(t, directory, "build", flag, "-gcflags=-m=1", "-o", os.DevNull, ".")
		return strings.Contains(log, "inlining call to add")
	}
	assert.False(t, inlined("-pgo=off"), "too large to be inlined without a profile")
	assert.True(t, inlined("-pgo=default.pgo"), "go build inlines with the served profile")
}

// No path and no query crashes the server or returns an error of the server.
func FuzzServer(f *testing.F) {
	for _, path := range []string{"/", "/profiles", "/profiles/s/samples?from=-5m", "/view/s/samples/top?f=(&base_window=1h", "/pgo/s?depth=1", "/view/../../etc/passwd", "/profiles/%2e%2e/%00", "//", "/diff/s/samples?base_resource.x=1", "/?q=a&sort=size&refresh=10s&resource.a=b", "/collapsed/s/samples?si=0", "/speedscope/s/samples?from=all", "/trace/4bf92f3577b34da6a3ce929d0e0e4736", "/span/x?until=-1h", "/view/s/samples/functions?function=main.work&q=a", "/view/s/samples/compare?base_from=all&sort=name", "/view/s/samples/labels?by=label.a&label.b=c", "/svg/s/samples?si=0", "/static/timeline.js"} {
		f.Add(path)
	}
	cfg := createDefaultConfig().(*Config)
	store := recent.New(recent.Limits{Memory: 1 << 20, PerSeries: 10}, func(recent.Reason) {})
	store.Add(&recent.Entry{Service: "s", Type: "samples", Compressed: made(f, day, []string{"samples"}, 5), Inflated: 100, Begin: day, End: day})
	handler := newPages(cfg, store, unlimited()).handler()
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		target, err := r.URL.Parse(path)
		if err != nil || target.Path == "" {
			return
		}
		r.URL = target
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Less(t, w.Code, 500, "%s", w.Body)
		require.NotContains(t, w.Body.String(), "root:x:0")
	})
}
