// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

const (
	inuseID = "memory:inuse_space:bytes:space:bytes"
	cpuID   = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
)

// selecting returns the query of a selection.
func selecting(id, query string) string {
	return url.Values{typeParameter: {id}, queryParameter: {query}}.Encode()
}

// naive returns the values of functions by name, as a slow loop over the samples finds them: without what they call, and with it.
func naive(p *profile.Profile, column int) (self, total map[string]int64, sum int64) {
	self, total = map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		seen := map[string]bool{}
		isLeaf := true
		for _, l := range s.Location {
			for _, line := range l.Line {
				if isLeaf {
					self[line.Function.Name] += s.Value[column]
					isLeaf = false
				}
				if !seen[line.Function.Name] {
					total[line.Function.Name] += s.Value[column]
				}
				seen[line.Function.Name] = true
			}
		}
		sum += s.Value[column]
	}
	return self, total, sum
}

func columnOf(t *testing.T, p *profile.Profile, name string) int {
	t.Helper()
	for i, s := range p.SampleType {
		if s.Type == name {
			return i
		}
	}
	t.Fatalf("no sample type %s", name)
	return 0
}

func (s *serving) functions(t *testing.T, query string) (table functionTable) {
	t.Helper()
	response, body := s.get(t, "/functions?"+query)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	require.NoError(t, json.Unmarshal(body, &table))
	return table
}

// The table of functions is exact: that of a profile is what google/pprof reads in it.
func TestFunctionsAreExact(t *testing.T) {
	s := newServing(t, nil)
	for _, test := range []struct{ file, column, id string }{{"heap.pb.gz", "inuse_space", inuseID}, {"cpu.pb.gz", "cpu", cpuID}} {
		payload := deliverytest.OwnProfile(t, test.file)
		s.post(t, payload, map[string]any{"service.name": test.file})
		p := deliverytest.Parsed(t, payload)
		self, total, sum := naive(p, columnOf(t, p, test.column))
		table := s.functions(t, selecting(test.id, fmt.Sprintf(`{service_name=%q}`, test.file)))
		assert.Equal(t, sum, table.Total)
		assert.Equal(t, 1, table.Profiles)
		found := map[string]bool{}
		for i, f := range table.Functions {
			assert.Equal(t, self[f.Name], f.Self, f.Name)
			assert.Equal(t, total[f.Name], f.Total, f.Name)
			assert.NotEmpty(t, f.File)
			found[f.Name] = true
			if i > 0 {
				assert.GreaterOrEqual(t, table.Functions[i-1].Self, f.Self, "sorted")
			}
		}
		for name, value := range total {
			assert.Equal(t, value != 0, found[name], name)
		}
	}
}

// recursive returns a profile of main → work → work → leaf (1), main → work → leaf (10) and main → leaf (100).
func recursive(t *testing.T, at time.Time, factor int64) []byte {
	t.Helper()
	p := deliverytest.Parsed(t, made(t, at, []string{"samples"}, factor))
	var locations []*profile.Location
	p.Function, p.Location = nil, nil
	for i, name := range []string{"main", "work", "leaf"} {
		f := &profile.Function{ID: uint64(i + 1), Name: name, Filename: name + ".go", StartLine: 3}
		locations = append(locations, &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 5}}})
		p.Function, p.Location = append(p.Function, f), locations
	}
	main, work, leaf := locations[0], locations[1], locations[2]
	p.Sample = []*profile.Sample{
		{Location: []*profile.Location{leaf, work, work, main}, Value: []int64{factor}},
		{Location: []*profile.Location{leaf, work, main}, Value: []int64{10 * factor}},
		{Location: []*profile.Location{leaf, main}, Value: []int64{100 * factor}},
	}
	return written(t, p)
}

const samplesID = "process_cpu:samples:count::"

func TestFunctionsOfRecursion(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, recursive(t, time.Now(), 1), map[string]any{"service.name": "s"})
	table := s.functions(t, selecting(samplesID, "{}"))
	assert.Equal(t, []functionRow{
		{Name: "leaf", File: "leaf.go", Line: 3, Self: 111, Total: 111},
		{Name: "main", File: "main.go", Line: 3, Total: 111},
		{Name: "work", File: "work.go", Line: 3, Total: 11},
	}, table.Functions)
	table = s.functions(t, selecting(samplesID, "{}")+"&function=work")
	assert.Equal(t, []functionRow{{Name: "main", Total: 11}, {Name: "work", Total: 1}}, table.Callers)
	assert.Equal(t, []functionRow{{Name: "leaf", Total: 11}, {Name: "work", Total: 1}}, table.Callees)
	table = s.functions(t, selecting(samplesID, "{}")+"&function=none")
	assert.Equal(t, functionTable{Unit: "count", Total: 111, Profiles: 1, Callers: []functionRow{}, Callees: []functionRow{}}, table, "that a function has no value is no error")
	response, body := s.get(t, "/functions?"+selecting(samplesID, "{"), "Accept", "application/json")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.JSONEq(t, `{"code":"invalid_argument","message":"the selector is invalid: \"{\" does not begin with { and end with }"}`, string(body))
}

// A comparison has the exact values of both sides, the largest change first.
func TestFunctionsCompared(t *testing.T) {
	s := newServing(t, nil)
	now := time.Now()
	s.post(t, recursive(t, now, 3), map[string]any{"service.name": "s", "pod": "a"})
	s.post(t, recursive(t, now, 1), map[string]any{"service.name": "s", "pod": "b"})
	table := s.functions(t, selecting(samplesID, `{pod="a"}`)+"&base_query="+url.QueryEscape(`{pod="b"}`))
	require.Len(t, table.Functions, 3)
	assert.EqualValues(t, 333, table.Total)
	assert.EqualValues(t, 111, *table.BaseTotal)
	first := table.Functions[0]
	assert.Equal(t, "leaf", first.Name)
	assert.Equal(t, []int64{333, 111}, []int64{first.Self, *first.BaseSelf})
	table = s.functions(t, selecting(samplesID, `{pod="a"}`)+"&base_query="+url.QueryEscape(`{pod="b"}`)+"&function=work")
	require.Len(t, table.Callers, 2)
	assert.Equal(t, "main", table.Callers[0].Name)
	assert.Equal(t, []int64{33, 11}, []int64{table.Callers[0].Total, *table.Callers[0].BaseTotal}, "both sides")
}

// Every file has the exact total of a selection.
func TestDownloads(t *testing.T) {
	s := newServing(t, nil)
	payload := deliverytest.OwnProfile(t, "cpu.pb.gz")
	s.post(t, payload, map[string]any{"service.name": "s"})
	p := deliverytest.Parsed(t, payload)
	_, _, sum := naive(p, columnOf(t, p, "cpu"))
	get := func(format string) string {
		response, body := s.get(t, "/download/"+format+"?"+selecting(cpuID, `{service_name="s"}`))
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", format, body)
		assert.Contains(t, response.Header.Get("Content-Disposition"), "attachment")
		assert.NotContains(t, response.Header.Get("Content-Type"), "html")
		return string(body)
	}
	merged := deliverytest.Parsed(t, []byte(get("pprof")))
	require.Len(t, merged.SampleType, 1)
	assert.Equal(t, []int64{sum}, totals(t, []byte(get("pprof"))))

	collapsed := int64(0)
	for line := range strings.Lines(get("collapsed")) {
		var value int64
		_, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &value)
		require.NoError(t, err)
		collapsed += value
	}
	assert.Equal(t, sum, collapsed)

	var file struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Unit     string
			EndValue int64
			Samples  [][]int
			Weights  []int64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(get("speedscope")), &file))
	require.Len(t, file.Profiles, 1)
	assert.Equal(t, "nanoseconds", file.Profiles[0].Unit)
	assert.Equal(t, sum, file.Profiles[0].EndValue)
	assert.Len(t, file.Profiles[0].Weights, len(file.Profiles[0].Samples))

	image := get("svg")
	assert.Contains(t, image, "<svg ")
	assert.Contains(t, image, amount(sum, "nanoseconds")+", 100 %")
	pgo := deliverytest.Parsed(t, []byte(get("pgo")))
	for _, sample := range pgo.Sample {
		assert.LessOrEqual(t, len(sample.Location), defaultDepth)
		assert.Empty(t, sample.Label)
	}
	for path, want := range map[string]int{
		"/download/dot?" + selecting(cpuID, "{}"): 404, "/download/pprof": 400, "/download/pprof?" + selecting(cpuID, "{"): 400,
		"/download/pprof?" + selecting("none:cpu:nanoseconds:cpu:nanoseconds", "{}"): 404, "/download/pprof?" + selecting("none", "{}"): 400, "/download/pgo?x=1": 400,
	} {
		response, _ := s.get(t, path)
		assert.Equal(t, want, response.StatusCode, path)
	}
}

// Without JavaScript there are the list, the table and the downloads.
func TestPlainPages(t *testing.T) {
	const evil = `"'></a><script>alert(1)</script>{{.}}`
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/some/where" })
	p := deliverytest.Parsed(t, recursive(t, time.Now(), 1))
	p.Function[0].Name, p.Function[0].Filename = evil, evil
	s.post(t, written(t, p), map[string]any{"service.name": evil})
	s.post(t, deliverytest.OwnProfile(t, "heap.pb.gz"), map[string]any{"service.name": ".."})
	visited := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
		page, _, _ := strings.Cut(path, "?")
		visited[page] = true
		if !strings.Contains(response.Header.Get("Content-Type"), "html") || !strings.Contains(path, "plain") {
			return
		}
		assert.NotContains(t, string(body), "<script")
		assert.NotContains(t, string(body), evil)
		base, err := url.Parse(s.url + path)
		require.NoError(t, err)
		for _, part := range strings.Split(string(body), `href="`)[1:] {
			link, _, _ := strings.Cut(part, `"`)
			target, err := base.Parse(strings.ReplaceAll(link, "&amp;", "&"))
			require.NoError(t, err)
			next := strings.TrimPrefix(target.String(), s.url)
			if name, _, _ := strings.Cut(next, "?"); !visited[name] && !strings.HasPrefix(name, "/download/pgo") {
				visit(next)
			}
		}
	}
	visit("/plain")
	for _, path := range []string{"/", "/plain/functions", "/download/pprof", "/download/svg", "/static/style.css"} {
		assert.True(t, visited[path], "%s is linked: %v", path, visited)
	}
	_, body := s.get(t, "/plain/functions?"+selecting(samplesID, "{}"))
	assert.Contains(t, string(body), "Total 111, 1 profile.")
	assert.Contains(t, string(body), `<th scope="row">leaf</th><td class="number">111</td><td class="number">100 %</td>`)
	_, body = s.get(t, "/plain?query="+url.QueryEscape(`{service_name="none"}`))
	assert.Contains(t, string(body), "There is no profile")
}

// A function can have the name of the root, or of what is not drawn.
func TestFunctionsWithNamesOfDrawings(t *testing.T) {
	s := newServing(t, nil)
	p := deliverytest.Parsed(t, recursive(t, time.Now(), 1))
	p.Function[0].Name, p.Function[1].Name = "total", "other"
	s.post(t, written(t, p), map[string]any{"service.name": "s"})
	table := s.functions(t, selecting(samplesID, "{}"))
	names := []string{}
	for _, f := range table.Functions {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{"leaf", "total ", "other "}, names)
}

// The number of profiles is that of those whose samples count: with a selected label, and the latest of a state at one time.
func TestFunctionsCountProfiles(t *testing.T) {
	s := newServing(t, nil)
	now := time.Now()
	for i, region := range []string{"eu", "us", "eu"} {
		p := deliverytest.Parsed(t, made(t, now.Add(time.Duration(i)*time.Second), []string{"samples", "goroutine"}, 1, 1))
		p.Sample[0].Label = map[string][]string{"region": {region}}
		s.post(t, written(t, p), map[string]any{"service.name": "s"})
	}
	assert.Equal(t, 3, s.functions(t, selecting(samplesID, "{}")).Profiles)
	assert.Equal(t, 2, s.functions(t, selecting(samplesID, `{region="eu"}`)).Profiles)
	assert.Equal(t, 1, s.functions(t, selecting("process_cpu:goroutine:count::", "{}")).Profiles)
}

// Shares are written as the page does, see page/_test/text.test.js.
func TestShare(t *testing.T) {
	for want, of := range map[string][2]int64{"33.3 %": {1, 3}, "100 %": {9996, 10_000}, "0 %": {0, 5}, "0.04 %": {1, 2500}, "0.001 %": {1, 1 << 40}, "99.9 %": {999, 1000}} {
		assert.Equal(t, want, share(of[0], of[1]))
	}
}
