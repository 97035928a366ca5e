// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	traceA = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceB = "5bf92f3577b34da6a3ce929d0e0e4736"
	spanA  = "00f067aa0ba902b7"
	spanB  = "10f067aa0ba902b7"
)

// traced returns a profile with a sample for each span, and one without a span. The values are 1, 10 and 100.
func traced(t *testing.T, sampleType string) []byte {
	t.Helper()
	p := deliverytest.Parsed(t, made(t, time.Now(), []string{sampleType}, 1))
	location := p.Sample[0].Location
	p.Sample[0].Label = map[string][]string{"trace_id": {traceA}, "span_id": {spanA}}
	p.Sample = append(p.Sample,
		&profile.Sample{Location: location, Value: []int64{10}, Label: map[string][]string{"trace_id": {traceB}, "span_id": {spanB}}},
		&profile.Sample{Location: location, Value: []int64{100}},
	)
	return written(t, p)
}

// Every format can show only the samples of a trace or span.
func TestServerTrace(t *testing.T) {
	s := newServing(t, func(cfg *Config) {
		cfg.PathPrefix = "/p"
		cfg.TraceURL = "https://traces.example/{trace_id}?span={span_id}"
	})
	s.post(t, traced(t, "samples"), map[string]any{"service.name": "a/b"})
	for path, want := range map[string]int64{
		"?trace_id=" + traceA: 1, "?trace_id=" + strings.ToUpper(traceB): 10, "?span_id=" + spanB: 10, "": 111,
		"?trace_id=" + traceA + "&span_id=" + spanA: 1,
	} {
		response, body := s.get(t, "/profiles/a%2Fb/samples"+path)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
		assert.Equal(t, []int64{want}, totals(t, body), path)
	}
	response, body := s.get(t, "/trace/"+traceA+"?from=-15m")
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Equal(t, "/p/view/a%2Fb/samples/flamegraph", response.Request.URL.EscapedPath(), "the only one")
	page := string(body)
	assert.Contains(t, page, `"Total":1,`)
	assert.Contains(t, page, "<title>a/b samples, last 15 min, trace "+traceA+" – profiles</title>")
	links := linksOf(page)
	assert.Equal(t, "https://traces.example/"+traceA+"?span=", links["Open the trace"])
	at := response.Request.URL.String()
	response, text := s.follow(t, at, links["All samples"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, text, `"Total":111,`)
	_, text = s.follow(t, at, links["collapsed"])
	assert.Equal(t, "main.work 1\n", text)
	response, text = s.follow(t, at, links["all"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, text, `"Total":1,`, "another time of the same trace")

	s.post(t, traced(t, "other"), map[string]any{"service.name": "<script>"})
	response, body = s.get(t, "/span/"+spanB)
	require.Equal(t, http.StatusOK, response.StatusCode)
	page = string(body)
	assert.Contains(t, page, "<h1>Profiles of span "+spanB+"</h1>")
	assert.Contains(t, page, "&lt;script&gt;")
	assert.NotContains(t, page, "<script")
	assert.Equal(t, policyPlain, response.Header.Get("Content-Security-Policy"))
	response, text = s.follow(t, response.Request.URL.String(), linksOf(page)["Flame graph"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, text, `"Total":10,`)

	for path, want := range map[string]int{
		"/trace/" + traceA[:30]: 400, "/trace/x": 400, "/span/" + traceA: 400, "/trace/" + strings.Repeat("0", 32): 404,
		"/trace/" + traceA + "?until=-1h": 404, "/trace/" + traceA + "?from=x": 400, "/trace/" + traceA + "?window=5m": 400,
		"/profiles/a%2Fb/samples?trace_id=x": 400, "/profiles/a%2Fb/samples?span_id=" + strings.Repeat("0", 16): 404,
		"/view/a%2Fb/samples/top?trace_id=" + traceA + "&span_id=" + spanB: 404,
		"/trace/" + traceA + "?resource.pod=x":                             404,
	} {
		response, body := s.get(t, path)
		assert.Equal(t, want, response.StatusCode, "%s: %.200s", path, body)
	}
}

// The samples of a trace are found by their link, whatever labels the sender used for it, and in whatever form.
func TestServerTraceOfOtherLabels(t *testing.T) {
	for name, labels := range map[string]map[string][]string{
		"own names":    {"tid": {traceA}, "sid": {spanA}},
		"Datadog's":    {"trace id": {traceA}, "span id": {"67667974448284343"}},
		"another form": {"trace_id": {"0x" + strings.ToUpper(traceA)}, "span_id": {strings.TrimLeft(spanA, "0")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServing(t, nil)
			p := deliverytest.Parsed(t, made(t, time.Now(), []string{"samples"}, 1))
			p.Sample[0].Label = labels
			p.Sample = append(p.Sample, &profile.Sample{Location: p.Sample[0].Location, Value: []int64{10}})
			resource := pcommon.NewMap()
			resource.PutStr("service.name", "a")
			links := append(pprof.DefaultLinkLabels(), pprof.LinkLabels{Trace: "tid", Span: "sid"})
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{LinkLabels: links}).Decode(written(t, p), pprof.Source{Resource: resource})
			require.NoError(t, err)
			require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
			for _, path := range []string{"/trace/" + traceA, "/span/" + spanA} {
				response, body := s.get(t, path)
				require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
				assert.Contains(t, string(body), `"Total":1,`)
			}
		})
	}
}

// The page says that older profiles were not searched, even if the first of them would not match.
// Profiles with other attributes do not count.
func TestServerTraceSearchesTheNewest(t *testing.T) {
	d := newHolding(t, 256<<20)
	answer := func(pod string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/trace/"+traceA+"?resource.pod="+pod, http.NoBody))
		return w
	}
	require.True(t, d.store.Add(held(t, deliverytest.Parsed(t, traced(t, "samples")), "a")))
	other := held(t, deliverytest.Parsed(t, made(t, day, []string{"samples"}, 1)), "b")
	add := func(service string) {
		require.True(t, d.store.Add(&recent.Entry{
			Service: service, Type: "samples", Compressed: other.Compressed, Inflated: other.Inflated, Attributes: []recent.Attribute{{Name: "pod", Value: "b"}},
		}))
	}
	const leftOut = "to search older ones"
	for i := range maxSearched {
		add(strconv.Itoa(i))
	}
	found := answer("a")
	assert.Equal(t, http.StatusFound, found.Code, "%s", found.Body)
	none := answer("b")
	assert.Equal(t, http.StatusNotFound, none.Code)
	assert.NotContains(t, none.Body.String(), leftOut)
	add("one more")
	none = answer("b")
	assert.Equal(t, http.StatusNotFound, none.Code)
	assert.Contains(t, none.Body.String(), leftOut)
}

// Traces of another tenant are not found, and the search is limited.
func TestServerTraceBounds(t *testing.T) {
	s := newServing(t, func(cfg *Config) {
		cfg.Tenant.MetadataKey = "x-scope-orgid"
		cfg.Encoding.LinkLabels.Span = ""
		cfg.MaxRequestSize = 300
	})
	ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Scope-OrgID": {"a"}})})
	require.NoError(t, s.ConsumeProfiles(ctx, deliverytest.Decode(t, traced(t, "samples"), map[string]any{"service.name": "s"})))
	response, body := s.get(t, "/trace/"+traceA, "X-Scope-OrgID", "b")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, string(body), "0 profiles were searched")
	response, _ = s.get(t, "/trace/"+traceA, "X-Scope-OrgID", "b", "X-Scope-OrgID", "a")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	response, _ = s.get(t, "/span/"+spanA, "X-Scope-OrgID", "a")
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "spans have no label")
	for range 2 {
		require.NoError(t, s.ConsumeProfiles(ctx, deliverytest.Decode(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s"})))
	}
	response, body = s.get(t, "/trace/"+traceA, "X-Scope-OrgID", "a")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, string(body), "the newest ones: the limit is 300 bytes (max_request_size)")
}
