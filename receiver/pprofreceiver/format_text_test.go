// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestIngestFormats posts each format with the names that Pyroscope's clients use.
func TestIngestFormats(t *testing.T) {
	const span = "&from=1700000000&until=1700000010"
	groups := profiletest.Format(t, "groups.txt")
	for name, test := range map[string]struct {
		query   string
		file    string
		headers []string
		want    map[string]int64
		service string
		profile string
	}{
		"groups":          {query: "name=shop.cpu&format=groups&sampleRate=1000&units=samples", file: "groups.txt", want: map[string]int64{"cpu/nanoseconds": 58_000_000}, service: "shop"},
		"folded":          {query: "name=my.shop&format=folded", file: "groups.txt", want: map[string]int64{"cpu/nanoseconds": 580_000_000}, service: "my.shop"},
		"no format":       {query: "name=shop.alloc_objects{env%3Dprod}&units=objects", file: "groups.txt", want: map[string]int64{"alloc_objects/count": 58}, service: "shop"},
		"memory in use":   {query: "name=shop&format=groups&units=bytes&aggregationType=average", file: "groups.txt", want: map[string]int64{"inuse_space/bytes": 58}, service: "shop"},
		"mutex":           {query: "name=shop.mutex_duration&format=groups&units=lock_nanoseconds", file: "groups.txt", want: map[string]int64{"delay/nanoseconds": 58}, service: "shop", profile: "mutex"},
		"label":           {query: "name=shop.cpu{service_name%3Dcart.cpu}&format=groups", file: "groups.txt", want: map[string]int64{"cpu/nanoseconds": 580_000_000}, service: "cart.cpu"},
		"lines":           {query: "name=shop&format=lines", file: "lines.txt", want: map[string]int64{"cpu/nanoseconds": 40_000_000}, service: "shop"},
		"trie":            {query: "name=shop.wall&format=trie", file: "trie.bin", want: map[string]int64{"wall/nanoseconds": 1_640_000_000}, service: "shop"},
		"trie by type":    {query: "name=shop.cpu", file: "trie.bin", headers: []string{"Content-Type", "binary/octet-stream+trie"}, want: map[string]int64{"cpu/nanoseconds": 1_640_000_000}, service: "shop"},
		"tree":            {query: "name=shop.cpu&format=tree", file: "tree.bin", want: map[string]int64{"cpu/nanoseconds": 1_640_000_000}, service: "shop"},
		"speedscope":      {query: "name=shop.cpu&format=speedscope", file: "speedscope.json", want: map[string]int64{"cpu/nanoseconds": 300_000_000, "space/bytes": 96, "samples/count": 3}, service: "shop", profile: "main thread"},
		"cpuprofile":      {query: "name=shop.wall&format=cpuprofile", file: "node.cpuprofile", want: map[string]int64{"wall/nanoseconds": 84_740_000}, service: "shop"},
		"speedscope wall": {query: "name=shop.wall&format=speedscope", file: "speedscope.json", want: map[string]int64{"wall/nanoseconds": 300_000_000, "space/bytes": 96, "samples/count": 3}, service: "shop", profile: "main thread"},
		"perf script":     {query: "name=shop.cpu&format=perf_script", file: "perf_boot.txt", want: map[string]int64{"cpu/nanoseconds": 14 * 5_025_125, "page-faults/count": 389}, service: "shop.cpu", profile: "page-faults"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, "/ingest?"+test.query+span, profiletest.Format(t, test.file), test.headers...)
			require.Equal(t, http.StatusOK, got.status, got.text)
			assert.Equal(t, test.want, sums(r.sink.one(t)))
			assert.Equal(t, test.service, r.sink.resource(t)["service.name"])
			first := r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
			assert.EqualValues(t, int64(1_700_000_000_000_000_000), first.Time())
			assert.Equal(t, test.profile, profileName(r.sink.one(t), first))
			r.assertRefusals(t, nil)
		})
	}
	r := run(t, nil)
	got := r.post(t, "/ingest?format=groups&name=shop", gz(t, groups), "Content-Encoding", "gzip")
	require.Equal(t, http.StatusOK, got.status, got.text)
	assert.Equal(t, map[string]int64{"cpu/nanoseconds": 580_000_000}, sums(r.sink.one(t)), "under gzip")
}

// profileName returns the attribute profile.name.
func profileName(pd pprofile.Profiles, profile pprofile.Profile) string {
	dict := pd.Dictionary()
	for _, index := range profile.AttributeIndices().All() {
		attribute := dict.AttributeTable().At(int(index))
		if dict.StringTable().At(int(attribute.KeyStrindex())) == "profile.name" {
			return attribute.Value().Str()
		}
	}
	return ""
}

// TestQueryFormats posts each format to the API for raw profiles.
func TestQueryFormats(t *testing.T) {
	for name, test := range map[string]struct {
		query, file string
		want        map[string]int64
	}{
		"pprof":          {query: "?format=pprof", want: map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}},
		"folded":         {query: "?format=folded", file: "groups.txt", want: map[string]int64{"samples/count": 58}},
		"folded, a type": {query: "?format=groups&sample_type=alloc_space/bytes", file: "groups.txt", want: map[string]int64{"alloc_space/bytes": 58}},
		"lines":          {query: "?format=lines", file: "lines.txt", want: map[string]int64{"samples/count": 4}},
		"trie":           {query: "?format=trie", file: "trie.bin", want: map[string]int64{"samples/count": 164}},
		"tree":           {query: "?format=tree", file: "tree.bin", want: map[string]int64{"samples/count": 164}},
		"speedscope":     {query: "?format=speedscope&sample_type=cpu/nanoseconds", file: "speedscope.json", want: map[string]int64{"cpu/nanoseconds": 300_000_000, "space/bytes": 96, "samples/count": 3}},
		"cpuprofile":     {query: "?format=cpuprofile", file: "node.cpuprofile", want: map[string]int64{"cpu/nanoseconds": 84_740_000}},
		"collapsed":      {query: "?format=collapsed", file: "groups.txt", want: map[string]int64{"samples/count": 58}},
		"perf":           {query: "?format=perf", file: "perf_wall.txt", want: map[string]int64{"cpu/nanoseconds": 3 * 20_408_163}},
		"perf script":    {query: "?format=perf_script&profile.name=x", file: "perf_wall.txt", want: map[string]int64{"cpu/nanoseconds": 3 * 20_408_163}},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.New(1<<30, 0)
			r := runOn(t, budgettest.NewHost(b), nil)
			body := plain(t, cpuProfile(2))
			if test.file != "" {
				body = profiletest.Format(t, test.file)
			}
			for _, form := range [][]byte{body, gz(t, body), zs(t, body)} {
				r.sink.got = nil
				got := r.post(t, "/v1/pprof"+test.query+"&service.name=shop", form)
				require.Equal(t, http.StatusNoContent, got.status, got.text)
				assert.Equal(t, test.want, sums(r.sink.one(t)))
				assert.Equal(t, map[string]any{"service.name": "shop"}, r.sink.resource(t))
			}
			used, peak := b.Used()
			assert.Zero(t, used)
			assert.Positive(t, peak)
		})
	}
}

// TestFormatRefusals: the error for a format that is not supported names it.
func TestFormatRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		target, body string
		headers      []string
		status       int
		reason, says string
	}{
		"unknown":           {target: "/v1/pprof?format=fold", body: "{}", status: 415, reason: "unknown_format", says: `format "fold" is not supported, only pprof, jfr, folded, lines, trie, tree, speedscope, cpuprofile, perf_script are`},
		"unknown at ingest": {target: "/ingest?name=a&format=fold", body: "{}", status: 415, reason: "unknown_format", says: `only pprof, jfr, folded`},
		"jfr":               {target: "/v1/pprof?format=jfr", body: "a 1", status: 400, reason: "malformed", says: "malformed JFR recording"},
		"form":              {target: "/v1/pprof", body: string(formOf("b", "profile", "x")), headers: []string{"Content-Type", "Multipart/Form-Data; boundary=b"}, status: 415, reason: "unknown_format", says: "a form is not supported here"},
		"sample type":       {target: "/v1/pprof?format=folded&sample_type=cpu", body: "a 1", status: 400, reason: "bad_query", says: `sample_type "cpu"`},
		"folded":            {target: "/v1/pprof?format=folded", body: "a 1\nb", status: 400, reason: "malformed", says: `line 2: malformed profile: "b" has no count`},
		"too many":          {target: "/v1/pprof?format=folded", body: "a 1\nb 1\nc 1", status: 413, reason: "too_large", says: "line 3: profile exceeds a limit: samples: 3, the limit is 2"},
		"perf.data":         {target: "/v1/pprof", body: "PERFILE2\x68\x00\x00\x00", status: 415, reason: "unknown_format", says: `format "perf.data" is not supported: send the output of perf script`},
		"perf.data named":   {target: "/v1/pprof?format=perf_script", body: "PERFILE2\x68\x00\x00\x00", status: 415, reason: "unknown_format", says: `"perf.data"`},
		"at ingest":         {target: "/ingest?name=a&format=groups", body: "PERFILE2\x68\x00\x00\x00", status: 415, reason: "unknown_format", says: "perf.data"},
		"jemalloc":          {target: "/v1/pprof", body: "heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n", status: 415, reason: "unknown_format", says: "jemalloc heap"},
		"callgrind":         {target: "/v1/pprof", body: "# callgrind format\nevents: Cycles\n", status: 415, reason: "unknown_format", says: "callgrind"},
		"callgrind 3.12":    {target: "/v1/pprof", body: "version: 1\ncreator: callgrind-3.12.0\npid: 1\n", status: 415, reason: "unknown_format", says: "callgrind"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.Limits.Samples = 2 })
			got := r.post(t, test.target, []byte(test.body), test.headers...)
			assert.Equal(t, test.status, got.status, got.text)
			assert.Contains(t, got.text, test.says)
			assert.Empty(t, r.sink.all())
			r.assertRefusals(t, map[string]int64{test.reason: 1})
		})
	}
}

// TestFormatMemory: without memory the answer is the same as for a pprof.
func TestFormatMemory(t *testing.T) {
	r := runOn(t, budgettest.NewHost(memory.New(4<<20, 0)), nil)
	var text strings.Builder
	for i := range 20_000 {
		text.WriteString("a;" + url.QueryEscape(strings.Repeat("x", i%500)) + "y;z 1\n")
	}
	got := r.post(t, "/v1/pprof?format=folded", []byte(text.String()))
	assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
	assert.Empty(t, r.sink.all())
}
