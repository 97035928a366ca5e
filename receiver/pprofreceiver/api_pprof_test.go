// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestForms posts one profile in every form of body. The result is always the same.
func TestForms(t *testing.T) {
	body := plain(t, cpuProfile(3))
	want, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(body, pprof.Source{
		ScopeName: "github.com/otelpprof/otelpprof/receiver/pprofreceiver", ScopeVersion: "1.2.3",
	})
	require.NoError(t, err)

	for _, c := range []struct {
		name     string
		body     []byte
		encoding string
	}{
		{name: "plain", body: body},
		{name: "gzip", body: gz(t, body)},
		{name: "zstd", body: zs(t, body)},
		{name: "gzip in zstd", body: zs(t, gz(t, body))},
		{name: "identity", body: gz(t, body), encoding: "identity"},
		{name: "plain under gzip", body: gz(t, body), encoding: "gzip"},
		{name: "plain under x-gzip", body: gz(t, body), encoding: "x-gzip"},
		{name: "plain under zstd", body: zs(t, body), encoding: "zstd"},
		{name: "gzip under gzip", body: gz(t, gz(t, body)), encoding: "gzip"},
		{name: "gzip under zstd", body: zs(t, gz(t, body)), encoding: "zstd"},
		{name: "zstd under gzip", body: gz(t, zs(t, body)), encoding: "gzip"},
		{name: "plain under zlib", body: zlibOf(t, body), encoding: "zlib"},
		{name: "plain under deflate", body: zlibOf(t, body), encoding: "deflate"},
		{name: "plain under snappy", body: snappy.Encode(nil, body), encoding: "snappy"},
		{name: "gzip under snappy", body: snappy.Encode(nil, gz(t, body)), encoding: "snappy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, nil)
			var headers []string
			if c.encoding != "" {
				headers = []string{"Content-Encoding", c.encoding}
			}
			got := r.post(t, "/v1/pprof", c.body, headers...)
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			assert.Empty(t, got.text)
			assert.Empty(t, profiletest.Diff(want, r.sink.one(t), profiletest.IgnoreProfileID()))
			r.assertRefusals(t, nil)
		})
	}
}

// TestPath: the API is at the configured path, and nowhere else.
func TestPath(t *testing.T) {
	body := plain(t, cpuProfile(1))
	for path, others := range map[string][]string{"/in/here": {"/v1/pprof", "/", "/in/here/", "/in/here/below"}, "/": {"/v1/pprof"}} {
		r := run(t, func(_ *Config, s *ServerConfig) { s.Path = path })
		assert.Equal(t, http.StatusNoContent, r.post(t, path, body).status)
		for _, other := range others {
			got := r.post(t, other, body)
			assert.Equal(t, http.StatusNotFound, got.status, other)
			assert.Contains(t, got.text, path, "the answer lists the paths")
		}
		r.assertRefusals(t, map[string]int64{"unknown_path": int64(len(others))})
	}
}

// TestResource checks the sources of attributes and their precedence.
func TestResource(t *testing.T) {
	change := func(cfg *Config, s *ServerConfig) {
		cfg.ResourceAttributes = map[string]any{"service.name": "from-config", "host.name": "from-config", "replicas": 3}
		s.ResourceHeaders = map[string]string{"x-service": "service.name", "X-Host": "host.name", "X-Zone": "zone", "X-Zone-Of-Pod": "zone"}
	}
	for _, c := range []struct {
		name    string
		query   string
		headers []string
		want    map[string]any
	}{
		{
			name: "config alone",
			want: map[string]any{"service.name": "from-config", "host.name": "from-config", "replicas": int64(3)},
		},
		{
			name:    "headers over config",
			headers: []string{"X-Service", "from-header", "X-Zone", "a", "X-Other", "ignored"},
			want:    map[string]any{"service.name": "from-header", "host.name": "from-config", "zone": "a", "replicas": int64(3)},
		},
		{
			name:    "the last header for an attribute",
			headers: []string{"X-Zone-Of-Pod", "of the pod", "X-Zone", "a"},
			want:    map[string]any{"service.name": "from-config", "host.name": "from-config", "zone": "of the pod", "replicas": int64(3)},
		},
		{
			name:    "query over headers",
			headers: []string{"X-Service", "from-header", "X-Host", "from-header"},
			query:   "?&service.name=from-query&resource.zone=b&resource.a%20key=a%26value&",
			want: map[string]any{
				"service.name": "from-query", "host.name": "from-header", "zone": "b", "a key": "a&value", "replicas": int64(3),
			},
		},
		{
			name:  "the last of a key",
			query: "?resource.service.name=first&service.name=second&resource.zone=x&resource.zone=y",
			want:  map[string]any{"service.name": "second", "host.name": "from-config", "zone": "y", "replicas": int64(3)},
		},
		{
			name:    "empty values set nothing",
			headers: []string{"X-Host", ""},
			query:   "?service.name=&resource.zone",
			want:    map[string]any{"service.name": "from-config", "host.name": "from-config", "replicas": int64(3)},
		},
		{
			name:  "what is not UTF-8",
			query: "?resource.zone=a%ffb",
			want:  map[string]any{"service.name": "from-config", "host.name": "from-config", "zone": "a\uFFFDb", "replicas": int64(3)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, change)
			got := r.post(t, "/v1/pprof"+c.query, plain(t, cpuProfile(1)), c.headers...)
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			assert.Equal(t, c.want, r.sink.resource(t))
		})
	}
}

// TestBadQuery: any other parameter is refused with the most similar one, and so is what cannot be read.
func TestBadQuery(t *testing.T) {
	rows := map[string]refused{}
	for query, says := range map[string]string{
		"resource.=x":               `"resource." names no attribute`,
		"resource.zone=%zz":         "%zz",
		"service.name=%":            "service.name=%",
		"sevice.name=a":             `"sevice.name" is not a parameter here, did you mean "service.name"?`,
		"service_name=a":            `did you mean "service.name"?`,
		"service.names=a":           `did you mean "service.name"?`,
		"Format=pprof":              `did you mean "format"?`,
		"resources.host.name=a":     `"resources.host.name" is not a parameter here, the known ones are service.name, resource., profile.name, format, sample_type`,
		"service.name=a&%73econds=": `"seconds" is not a parameter here, the known ones are`,
		"=a":                        `"" is not a parameter here`,
	} {
		rows[query] = refused{target: query, body: plain(t, cpuProfile(1)), status: http.StatusBadRequest, reason: "bad_query", says: says}
	}
	checkRefusals(t, "/v1/pprof?", nil, rows)
}

// TestRepeatedSlashes: a path with repeated slashes is taken, not redirected: not all clients follow, and others send twice.
func TestRepeatedSlashes(t *testing.T) {
	r := run(t, nil)
	got := r.post(t, "//v1///pprof?service.name=a", plain(t, cpuProfile(1)))
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	assert.Equal(t, "a", r.sink.resource(t)["service.name"])
}

// TestLargeQuery tests the limits of the resource in a query and in headers.
func TestLargeQuery(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		query  string
		header string
		says   string
		// refused is set if the server refuses the request before any API.
		refused bool
	}{
		"as many attributes as there may be": {query: manyAttributes(128)},
		"one more":                           {query: manyAttributes(129), says: "more than 128 labels"},
		"the longest name":                   {query: "resource." + text(1<<10) + "=a"},
		"a longer name":                      {query: "resource." + text(1<<10+1) + "=a", says: "1025, the limit is 1024"},
		"the longest value":                  {query: "service.name=" + text(15<<10)},
		"the longest header":                 {header: text(15 << 10)},
		"a longer value":                     {query: "service.name=" + text(17<<10), refused: true},
		"a longer header":                    {header: text(17 << 10), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(_ *Config, s *ServerConfig) { s.ResourceHeaders = map[string]string{"X-Zone": "zone"} })
			got := r.post(t, "/v1/pprof?"+c.query, plain(t, cpuProfile(1)), "X-Zone", c.header)
			if c.refused {
				assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, got.status, got.text)
				assert.Empty(t, r.sink.all())
				return
			}
			if c.says == "" {
				assert.Equal(t, http.StatusNoContent, got.status, got.text)
				return
			}
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
			assert.Contains(t, got.text, c.says)
			assert.Empty(t, r.sink.all())
			r.assertRefusals(t, map[string]int64{"too_large": 1})
		})
	}
}

func manyAttributes(n int) string {
	return strings.TrimSuffix(strings.Repeat("resource.zone=a&", n), "&")
}

// TestConfigReachesTranslator checks effects of options of the translator: by default and as configured.
func TestConfigReachesTranslator(t *testing.T) {
	p := cpuProfile(1)
	p.Sample[0].Value = []int64{1, 0}
	p.Mapping = []*profile.Mapping{{ID: 1, File: "unreached.so", Start: 0x1000, Limit: 0x2000}}
	body := gz(t, plain(t, p))
	for keep, want := range map[bool]int{false: 1, true: 2} {
		r := run(t, func(cfg *Config, _ *ServerConfig) {
			if keep {
				cfg.ZeroValues, cfg.IncludeOriginalPayload, cfg.KeepUnreferencedMappings = ZeroValuesKeep, true, true
			}
		})
		require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", body).status)
		pd := r.sink.all()[0]
		require.NoError(t, profiletest.CheckOptions{AllowUnreferencedMappings: keep}.Check(pd))
		assert.Equal(t, want, pd.SampleCount(), "with the zero, if kept")
		assert.Equal(t, want, pd.Dictionary().MappingTable().Len())
		first := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		assert.Equal(t, keep, bytes.Equal(body, first.OriginalPayload().AsRaw()))
	}
}

// sums returns the sum of the values of each profile of the first scope, by type/unit.
func sums(pd pprofile.Profiles) map[string]int64 {
	return sumsOf(pd.Dictionary(), pd.ResourceProfiles().At(0).ScopeProfiles().At(0))
}
