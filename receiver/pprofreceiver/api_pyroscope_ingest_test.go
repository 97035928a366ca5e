// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestReplayIngest replays requests of Pyroscope's clients.
func TestReplayIngest(t *testing.T) {
	goLabels := map[string]any{
		"service.name": "checkout", "pyroscope_spy": "gospy", "region": "eu-1", "service_git_ref": "abc123",
		"process.runtime.name": "go", "process.runtime.version": "go1.26.8",
		"otel.scope.name": "com.grafana.pyroscope/go", "otel.scope.version": "v1.4.3",
	}
	deltaLabels := map[string]any{}
	maps.Copy(deltaLabels, goLabels)
	deltaLabels["otel.scope.name"], deltaLabels["otel.scope.version"] = "com.grafana.pyroscope/godeltaprof", "v0.1.11"
	nodeLabels := map[string]any{
		"service.name": "node-checkout", "pyroscope_spy": "nodespy", "region": "eu-1",
		"process.runtime.name": "nodejs", "process.runtime.version": "20.20.2",
		"otel.scope.name": "com.grafana.pyroscope/nodejs", "otel.scope.version": "0.6.4",
	}
	for _, payload := range payloadsOf(t, "pyroscope-") {
		t.Run(payload.File, func(t *testing.T) {
			name, labels := "", deltaLabels
			switch _, kind, _ := strings.Cut(payload.File, "-0"); {
			case strings.Contains(payload.File, "nodejs"):
				labels = nodeLabels
			case strings.Contains(payload.File, "-mutex"):
				name = "mutex"
			case strings.Contains(payload.File, "-block"):
				name = "block"
			case strings.Contains(payload.File, "-goroutine"):
				name, labels = "goroutines", goLabels
			case strings.Contains(payload.File, "-cpu"):
				labels = goLabels
			default:
				assert.Contains(t, payload.File, "-heap", kind)
			}
			request := capture(t, payload.File)
			for _, prefix := range []string{"/ingest?", "/pyroscope/ingest?"} {
				r := run(t, nil)
				got := r.replay(t, bytes.Replace(request, []byte("/ingest?"), []byte(prefix), 1))
				require.Equal(t, http.StatusOK, got.status, got.text)
				assert.Empty(t, got.text)
				pd := r.sink.one(t)
				resource := pd.ResourceProfiles().At(0)
				assertPayload(t, payload, pd.Dictionary(), resource.ScopeProfiles().At(0))
				assert.Equal(t, labels, resource.Resource().Attributes().AsRaw())
				for _, got := range profileNames(pd.Dictionary(), resource.ScopeProfiles().At(0)) {
					assert.Equal(t, name, got)
				}
				info := client.FromContext(r.sink.ctx[0])
				assert.Equal(t, []string{"team-a"}, info.Metadata.Get("X-Scope-OrgID"), "the tenant is passed on")
			}
		})
	}
}

const multipartType = "multipart/form-data; boundary=b"

// TestIngestForms sends one profile in every accepted form, with and without the parameter format.
func TestIngestForms(t *testing.T) {
	body := plain(t, cpuProfile(2))
	asForm := formOf("b", "profile", string(gz(t, body)))
	for name, c := range map[string]struct {
		query   string
		body    []byte
		headers []string
	}{
		"form":                     {body: asForm, headers: []string{"Content-Type", multipartType}},
		"form with format":         {query: "&format=pprof", body: asForm, headers: []string{"Content-Type", multipartType}},
		"form under gzip":          {body: gz(t, asForm), headers: []string{"Content-Type", multipartType, "Content-Encoding", "gzip"}},
		"form under zstd":          {body: zs(t, asForm), headers: []string{"Content-Type", multipartType, "Content-Encoding", "zstd"}},
		"form with other fields":   {body: formOf("b", "x", "1", "profile", string(body), "sample_type_config", "{}"), headers: []string{"Content-Type", multipartType}},
		"body":                     {query: "&format=pprof", body: gz(t, body), headers: []string{"Content-Type", "application/octet-stream"}},
		"body without format":      {body: gz(t, body)},
		"plain, without format":    {body: body},
		"zstd under gzip":          {query: "&format=pprof", body: gz(t, zs(t, body)), headers: []string{"Content-Encoding", "gzip"}},
		"parameters of a database": {query: "&units=samples&sampleRate=nonsense&aggregationType=average&until=nonsense&from=", body: body},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, "/ingest?name=app"+c.query, c.body, c.headers...)
			require.Equal(t, http.StatusOK, got.status, got.text)
			assert.Empty(t, got.text)
			assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(r.sink.one(t)))
			assert.Equal(t, map[string]any{"service.name": "app"}, r.sink.resource(t))
			assert.EqualValues(t, int64(1_700_000_000_000_000_000), r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Time())
		})
	}
}

// TestIngestResource checks which parts of the name become the resource, and that they override other sources.
func TestIngestResource(t *testing.T) {
	r := run(t, func(cfg *Config, s *ServerConfig) {
		cfg.ResourceAttributes = map[string]any{"service.name": "from-config", "region": "from-config", "zone": "from-config"}
		s.ResourceHeaders = map[string]string{"X-Region": "region", "X-Host": "host.name"}
	})
	name := url.QueryEscape("app{service_name=checkout,region=eu-1,__session_id__=77,__name__=wall,empty=}")
	got := r.post(t, "/ingest?resource.region=from-query&resource.host.name=q&spyName=rbspy&name="+name, plain(t, cpuProfile(1)), "X-Region", "from-header", "X-Host", "h")
	require.Equal(t, http.StatusOK, got.status, got.text)
	assert.Equal(t, map[string]any{
		"service.name": "checkout", "region": "eu-1", "zone": "from-config", "host.name": "q", "pyroscope_spy": "rbspy",
	}, r.sink.resource(t))
	pd := r.sink.one(t)
	assert.Equal(t, []string{"wall", "wall"}, profileNames(pd.Dictionary(), pd.ResourceProfiles().At(0).ScopeProfiles().At(0)))
}

// TestIngestTimes: profiles without a time get the time of the request.
func TestIngestTimes(t *testing.T) {
	for name, c := range map[string]struct {
		time, duration int64
		query          string
		want           pcommon.Timestamp
		wantDuration   uint64
	}{
		"its own":              {time: 1_700_000_000_000_000_000, duration: 5, query: "&from=1795239923&until=1795239925", want: 1_700_000_000_000_000_000, wantDuration: 5},
		"none":                 {query: "&from=1795239923&until=1795239925", want: 1795239923_000000000, wantDuration: 2_000_000_000},
		"microseconds":         {time: 1_700_000_000_000_000, duration: 7, query: "&from=1795239923000&until=1795239925", want: 1795239923_000000000, wantDuration: 2_000_000_000},
		"microseconds, no end": {time: 1_700_000_000_000_000, duration: 7, query: "&from=1795239923", want: 1795239923_000000000, wantDuration: 7},
		"until before":         {query: "&from=1795239923&until=1795239920", want: 1795239923_000000000},
		"a whole day":          {query: "&from=20261121&until=20261122", want: pcommon.NewTimestampFromTime(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)), wantDuration: 86400_000000000},
		"nanoseconds":          {query: "&from=1795239923000000001&until=1795239923000000002", want: 1795239923_000000001, wantDuration: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			p := cpuProfile(1)
			p.TimeNanos, p.DurationNanos = c.time, c.duration
			require.Equal(t, http.StatusOK, r.post(t, "/ingest?name=app"+c.query, plain(t, p)).status)
			for _, profile := range r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
				assert.Equal(t, c.want, profile.Time())
				assert.Equal(t, c.wantDuration, profile.DurationNano())
			}
		})
	}
}

// TestIngestRefusals checks status, format and text of refusals.
func TestIngestRefusals(t *testing.T) {
	body := plain(t, cpuProfile(1))
	asForm := []string{"Content-Type", multipartType}
	checkRefusals(t, "/ingest", nil, map[string]refused{
		"no name":          {body: body, status: 400, reason: "bad_query", says: "names no application"},
		"bad name":         {target: "?name=app%7Bx", body: body, status: 400, reason: "bad_query", says: "closing brace"},
		"jfr":              {target: "?name=app&format=jfr", body: body, status: 422, reason: "malformed", says: "malformed JFR recording"},
		"trie":             {target: "?name=app&format=trie", body: body, status: 422, reason: "malformed", says: `byte `},
		"lines":            {target: "?name=app&format=lines", body: body, status: 422, reason: "malformed", says: `control character`},
		"groups":           {target: "?name=app&format=groups", body: body, status: 422, reason: "malformed", says: `has no count`},
		"speedscope":       {target: "?name=app&format=speedscope", body: body, status: 422, reason: "malformed", says: "want {"},
		"jfr in a form":    {target: "?name=app", body: formOf("b", "jfr", "x"), headers: asForm, status: 422, reason: "malformed", says: "malformed JFR recording"},
		"jfr form, format": {target: "?name=app&format=jfr", body: formOf("b", "jfr", "x"), headers: asForm, status: 422, reason: "malformed", says: "malformed JFR recording"},
		"tree by type":     {target: "?name=app", body: body, headers: []string{"Content-Type", "binary/octet-stream+tree"}, status: 422, reason: "malformed", says: "byte "},
		"unknown by type":  {target: "?name=app", body: body, headers: []string{"Content-Type", "binary/octet-stream+bush"}, status: 415, reason: "unknown_format", says: `format "bush"`},
		"text in a form":   {target: "?name=app&format=lines", body: formOf("b", "profile", "a;b"), headers: asForm, status: 415, reason: "unknown_format", says: `format "lines" is not supported in a form`},
		"unknown units":    {target: "?name=app&format=lines&units=parsecs", body: []byte("a;b"), status: 400, reason: "bad_query", says: `units "parsecs"`},
		"bad rate":         {target: "?name=app&format=lines&sampleRate=-1", body: []byte("a;b"), status: 400, reason: "bad_query", says: `sampleRate "-1"`},
		"folded text":      {target: "?name=app", body: []byte("main;work 10\nmain\n"), status: 422, reason: "malformed", says: "line 2"},
		"previous profile": {target: "?name=app", body: formOf("b", "profile", string(body), "prev_profile", string(body)), headers: asForm, status: 415, reason: "unknown_format", says: "prev_profile"},
		"malformed":        {target: "?name=app&format=pprof", body: body[:len(body)-1], status: 422, reason: "malformed", says: "malformed"},
		"malformed gzip":   {target: "?name=app", body: gz(t, body)[:40], status: 422, reason: "malformed", says: "inflate"},
		"empty body":       {target: "?name=app", status: 422, reason: "malformed", says: "the body is empty"},
		"wrong boundary":   {target: "?name=app", body: formOf("c", "profile", string(body)), headers: asForm, status: 422, reason: "malformed", says: `boundary "b"`},
		"no boundary":      {target: "?name=app", body: formOf("b", "profile", string(body)), headers: []string{"Content-Type", "multipart/form-data"}, status: 422, reason: "malformed", says: "boundary"},
		"no profile":       {target: "?name=app", body: formOf("b", "x", "y"), headers: asForm, status: 422, reason: "malformed", says: `no field "profile"`},
		"two profiles":     {target: "?name=app", body: formOf("b", "profile", string(body), "profile", string(body)), headers: asForm, status: 422, reason: "malformed", says: "more than one"},
		"many parts":       {target: "?name=app", body: formOf("b", strings.Split(strings.Repeat("x,1,", 10_000)+"profile,x", ",")...), headers: asForm, status: 413, reason: "too_large", says: "more than 16 parts"},
		"bad sample types": {target: "?name=app", body: formOf("b", "profile", string(body), "sample_type_config", "{"), headers: asForm, status: 422, reason: "malformed", says: "sample_type_config"},
		"huge types":       {target: "?name=app", body: formOf("b", "sample_type_config", strings.Repeat(" ", 100_000)), headers: asForm, status: 413, reason: "too_large", says: "sample_type_config"},
		"not the encoding": {target: "?name=app", body: formOf("b", "profile", string(body)), headers: append([]string{"Content-Encoding", "gzip"}, asForm...), status: 422, reason: "malformed", says: "Content-Encoding"},
		"unknown encoding": {target: "?name=app", body: body, headers: []string{"Content-Encoding", "br"}, status: 415, reason: "unknown_encoding", says: "br"},
		"older format":     {target: "?name=app&format=pprof", body: []byte(heapText), status: 415, reason: "not_pprof", says: "server.legacy_formats"},
	})
}

// TestIngestEmptyProfile accepts profiles without samples: clients send them when they end.
func TestIngestEmptyProfile(t *testing.T) {
	r := run(t, nil)
	withMapping := cpuProfile(0)
	withMapping.Mapping = []*profile.Mapping{{ID: 1, File: "a.out", Start: 1, Limit: 2}}
	for _, content := range []string{string(plain(t, withMapping)), ""} {
		got := r.post(t, "/ingest?name=app", formOf("b", "profile", content), "Content-Type", multipartType)
		assert.Equal(t, http.StatusOK, got.status, got.text)
	}
	assert.Equal(t, map[string]int64{"pyroscope_ingest": 2}, r.counts("otelcol_receiver_pprof_empty_profiles", "api"))
}
