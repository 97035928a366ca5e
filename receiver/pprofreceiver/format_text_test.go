// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
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
		"speedscope":      {query: "name=shop.cpu&format=speedscope", file: "speedscope.json", want: map[string]int64{"cpu/nanoseconds": 309_500_000, "space/bytes": 96, "samples/count": 3}, service: "shop", profile: "main thread"},
		"cpuprofile":      {query: "name=shop.wall&format=cpuprofile", file: "node.cpuprofile", want: map[string]int64{"wall/nanoseconds": 84_740_000}, service: "shop"},
		"speedscope wall": {query: "name=shop.wall&format=speedscope", file: "speedscope.json", want: map[string]int64{"wall/nanoseconds": 309_500_000, "space/bytes": 96, "samples/count": 3}, service: "shop", profile: "main thread"},
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
			assert.Equal(t, test.profile, profileNames(r.sink.one(t).Dictionary(), r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0))[0])
			r.assertRefusals(t, nil)
		})
	}
	r := run(t, nil)
	got := r.post(t, "/ingest?format=groups&name=shop", gz(t, groups), "Content-Encoding", "gzip")
	require.Equal(t, http.StatusOK, got.status, got.text)
	assert.Equal(t, map[string]int64{"cpu/nanoseconds": 580_000_000}, sums(r.sink.one(t)), "under gzip")
}

// TestFormatRefusals: the error for a format that is not supported names it.
func TestFormatRefusals(t *testing.T) {
	checkRefusals(t, "", func(cfg *Config, _ *ServerConfig) { cfg.Limits.Samples = 2 }, map[string]refused{
		"unknown":           {target: "/v1/pprof?format=fold", body: []byte("{}"), status: 415, reason: "unknown_format", says: `format "fold" is not supported, only pprof, jfr, folded, lines, trie, tree, speedscope, cpuprofile, perf_script are`},
		"unknown at ingest": {target: "/ingest?name=a&format=fold", body: []byte("{}"), status: 415, reason: "unknown_format", says: `only pprof, jfr, folded`},
		"jfr, too large":    {target: "/v1/pprof?format=jfr", body: jfrtest.Example().Bytes(), status: 413, reason: "too_large", says: "samples"},
		"jfr":               {target: "/v1/pprof?format=jfr", body: []byte("a 1"), status: 400, reason: "malformed", says: "malformed JFR recording"},
		"form":              {target: "/v1/pprof", body: formOf("b", "profile", "x"), headers: []string{"Content-Type", "Multipart/Form-Data; boundary=b"}, status: 415, reason: "unknown_format", says: "a form is not supported here"},
		"sample type":       {target: "/v1/pprof?format=folded&sample_type=cpu", body: []byte("a 1"), status: 400, reason: "bad_query", says: `sample_type "cpu"`},
		"folded":            {target: "/v1/pprof?format=folded", body: []byte("a 1\nb"), status: 400, reason: "malformed", says: `line 2: malformed profile: "b" has no count`},
		"too many":          {target: "/v1/pprof?format=folded", body: []byte("a 1\nb 1\nc 1"), status: 413, reason: "too_large", says: "line 3: profile exceeds a limit: samples: 3, the limit is 2"},
		"perf.data named":   {target: "/v1/pprof?format=perf_script", body: []byte("PERFILE2\x68\x00\x00\x00"), status: 415, reason: "unknown_format", says: `"perf.data"`},
		"at ingest":         {target: "/ingest?name=a&format=groups", body: []byte("PERFILE2\x68\x00\x00\x00"), status: 415, reason: "unknown_format", says: "perf.data"},
		"callgrind 3.12":    {target: "/v1/pprof", body: []byte("version: 1\ncreator: callgrind-3.12.0\npid: 1\n"), status: 415, reason: "unknown_format", says: "callgrind"},
	})
}

// TestFormats posts each format to the API for raw profiles: by each of its names, and without one where it is recognized.
func TestFormats(t *testing.T) {
	file := func(name string) []byte { return profiletest.Format(t, name) }
	long := []byte(strings.Repeat("main;handle;checkout 1\n", 2000) + strings.Repeat("a;", 16_000) + "b 1\n")
	unnamed := []string{""}
	for name, test := range map[string]struct {
		body    []byte
		formats []string
		query   string
		want    map[string]int64
	}{
		"pprof":              {body: plain(t, cpuProfile(2)), formats: []string{"", "pprof"}, want: map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}},
		"folded":             {body: file("groups.txt"), formats: []string{"", "folded", "collapsed", "groups"}, want: map[string]int64{"samples/count": 58}},
		"folded, a type":     {body: file("groups.txt"), formats: []string{"", "folded"}, query: "&sample_type=alloc_space/bytes", want: map[string]int64{"alloc_space/bytes": 58}},
		"folded, long":       {body: long, formats: unnamed, want: map[string]int64{"samples/count": 2001}},
		"folded, Austin":     {body: []byte("# austin: 3.7.0\n# mode: wall\n\nP1;T1:2;a.py:main:3 99\n"), formats: unnamed, want: map[string]int64{"wall/nanoseconds": 99_000}},
		"folded, one":        {body: []byte("main;work 7"), formats: unnamed, want: map[string]int64{"samples/count": 7}},
		"lines":              {body: file("lines.txt"), formats: []string{"lines"}, want: map[string]int64{"samples/count": 4}},
		"trie":               {body: file("trie.bin"), formats: []string{"trie"}, want: map[string]int64{"samples/count": 164}},
		"tree":               {body: file("tree.bin"), formats: []string{"tree"}, want: map[string]int64{"samples/count": 164}},
		"speedscope":         {body: file("speedscope.json"), formats: []string{"", "speedscope"}, want: map[string]int64{"wall/nanoseconds": 309_500_000, "space/bytes": 96, "samples/count": 3}},
		"speedscope, a type": {body: file("speedscope.json"), formats: []string{"", "speedscope"}, query: "&sample_type=cpu/nanoseconds", want: map[string]int64{"cpu/nanoseconds": 309_500_000, "space/bytes": 96, "samples/count": 3}},
		"without schema":     {body: []byte(` {"name":"x", "shared" : {"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]],"weights":[4]}]}`), formats: unnamed, want: map[string]int64{"samples/count": 4}},
		"cpuprofile":         {body: file("node.cpuprofile"), formats: []string{"", "cpuprofile"}, want: map[string]int64{"cpu/nanoseconds": 84_740_000}},
		"times first":        {body: []byte(`{"startTime":1,"endTime":4,"timeDeltas":[1],"samples":[1],"nodes":[{"id":1,"callFrame":{}}]}`), formats: unnamed, want: map[string]int64{"cpu/nanoseconds": 2000}},
		"perf script":        {body: file("perf_wall.txt"), formats: []string{"", "perf", "perf_script"}, want: map[string]int64{"cpu/nanoseconds": 3 * 20_408_163}},
		"perf of one line":   {body: file("perf_flat.txt"), formats: unnamed, want: map[string]int64{"cpu/nanoseconds": 70_351_750, "page-faults/count": 389}},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.New(1<<30, 0)
			r := runOn(t, budgettest.NewHost(b), nil)
			for _, format := range test.formats {
				for _, body := range [][]byte{test.body, gz(t, test.body), zs(t, gz(t, test.body))} {
					r.sink.got = nil
					got := r.post(t, "/v1/pprof?service.name=shop&format="+format+test.query, body)
					require.Equal(t, http.StatusNoContent, got.status, got.text)
					assert.Equal(t, test.want, sums(r.sink.one(t)), format)
					assert.Equal(t, map[string]any{"service.name": "shop"}, r.sink.resource(t))
				}
			}
			used, peak := b.Used()
			assert.Zero(t, used)
			assert.Positive(t, peak)
		})
	}
}

// TestNotRecognized: what does not have the whole shape of a format is refused. The error says how to name the format, and never speaks of
// the fields of a pprof if the payload is a text.
func TestNotRecognized(t *testing.T) {
	const unknown = "the payload is text or JSON, not a pprof, and begins like no format that is recognized: name its format with format=, one of folded, lines"
	rows := map[string]refused{
		"text":                     {body: []byte("hello 5; world"), says: unknown, status: 400, reason: "malformed"},
		"stacks of one frame":      {body: []byte("main 5\nwork 3\n"), says: unknown, status: 400, reason: "malformed"},
		"a line without a count":   {body: []byte("main;work 5\nmain;work\n"), says: unknown, status: 400, reason: "malformed"},
		"an empty frame":           {body: []byte("main;;work 5\n"), says: unknown, status: 400, reason: "malformed"},
		"a log":                    {body: []byte("2026-11-24 info; took 5\n2026-11-24 error; failed\n"), says: unknown, status: 400, reason: "malformed"},
		"one long line":            {body: []byte(strings.Repeat("a;", 20_000)), says: unknown, status: 400, reason: "malformed"},
		"headers of perf script":   {body: []byte("a 1 2.5: 1 e:\n"), says: unknown, status: 400, reason: "malformed"},
		"perf script with a fault": {body: []byte("a 1 2.5: 1 e:\n\t1 f (x)\nb\n"), says: unknown, status: 400, reason: "malformed"},
		"an object":                {body: []byte("{}"), says: unknown, status: 400, reason: "malformed"},
		"nodes of something else":  {body: []byte(`{"nodes":[{"id":1}],"samples":[1]}`), says: unknown, status: 400, reason: "malformed"},
		"frames of nothing":        {body: []byte(`{"frames":[{"name":"a"}]}`), says: unknown, status: 400, reason: "malformed"},
		"a cut pprof":              {body: []byte(string(plain(t, cpuProfile(2))[:60])), says: "malformed pprof", status: 400, reason: "malformed"},
		"a cut cpuprofile":         {body: []byte(`{"nodes":[{"id":1,"callFrame":{}}]`), says: "the message ends", status: 400, reason: "malformed"},
		"folded, later":            {body: []byte(strings.Repeat("main;work 5\n", 2000) + "x"), says: `line 2001: malformed profile: "x" has no count`, status: 400, reason: "malformed"},
		"too many":                 {body: []byte("a;b 1\nc;d 1\ne;f 1\n"), says: "samples: 3, the limit is 2", status: 413, reason: "too_large"},
	}
	for name, row := range maps.Clone(rows) {
		row.body = gz(t, row.body)
		rows[name+", gzip"] = row
	}
	checkRefusals(t, "/v1/pprof", func(cfg *Config, _ *ServerConfig) { cfg.Limits.Samples = 2 }, rows)
	r := run(t, nil)
	got := r.post(t, "/v1/pprof?format=pprof", profiletest.Format(t, "groups.txt"))
	assert.Equal(t, http.StatusBadRequest, got.status, "what the request says wins")
	got = r.post(t, "/v1/pprof?format=lines", []byte("main;work 5\n"))
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	assert.Equal(t, map[string]int64{"samples/count": 1}, sums(r.sink.one(t)), "what the request says wins")
}

// TestForeign: an error names a format that is not supported, and what to send instead, also if the payload is compressed.
func TestForeign(t *testing.T) {
	for body, says := range map[string]string{
		"PERFILE2\x68\x00\x00\x00":                                     `"perf.data" is not supported: send the output of perf script with format=perf_script`,
		"heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n":               `"jemalloc heap" is not supported: convert it with jeprof --collapsed, and send that with format=folded`,
		"# callgrind format\nevents: Cycles\n":                         `"callgrind" is not supported: open it in speedscope and send its export with format=speedscope`,
		"goroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1d\n":       `"goroutine stacks" is not supported: send what Go's net/http/pprof answers without the parameter debug`,
		"go 1.26 trace\x00\x00\x00\x01":                                `"Go execution trace" is not supported: convert it with go tool trace -pprof=TYPE`,
		"MOJ\x00\x03":                                                  `"MOJO of Austin" is not supported: convert it with mojo2austin, and send that with format=folded`,
		"JAVA PROFILE 1.0.2\x00":                                       `"Java heap dump" is not supported`,
		"\n<!DOCTYPE html><html>":                                      `"HTML or SVG" is not supported`,
		`<?xml version="1.0"?><svg>`:                                   `"HTML or SVG" is not supported`,
		`[{"args":{},"cat":"v8","name":"a","ph":"X","pid":1,"tid":1}]`: `"Chrome trace" is not supported: record a .cpuprofile and send it with format=cpuprofile`,
		`{"displayTimeUnit":"ns","traceEvents":[{"ph":"X"`:             `"Chrome trace" is not supported`,
		`{"snapshot":{"meta":{"node_fields":[`:                         `"V8 heap snapshot" is not supported`,
		`{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0`:  `"V8 heap profile or older CPU profile" is not supported: open it in speedscope`,
		`{"meta":{"interval":1,"processType":0,`:                       `"Firefox profile" is not supported`,
		`{"resourceProfiles":[]}`:                                      `"OTLP as JSON" is not supported: send it to the receiver otlp`,
	} {
		r := run(t, nil)
		for _, form := range [][]byte{[]byte(body), gz(t, []byte(body))} {
			got := r.post(t, "/v1/pprof", form)
			assert.Equal(t, http.StatusUnsupportedMediaType, got.status, got.text)
			assert.Contains(t, got.text, "format "+says)
		}
		r.assertRefusals(t, map[string]int64{"unknown_format": 2})
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
