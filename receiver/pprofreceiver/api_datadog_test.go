// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplayDatadog replays an upload of dd-trace-go: five profiles in zstd, one message.
func TestReplayDatadog(t *testing.T) {
	for _, path := range []string{"/profiling/v1/input", "/api/v2/profile"} {
		r := run(t, nil)
		request := strings.Replace(string(capture(t, "dd-trace-go/01-upload")), "/profiling/v1/input", path, 1)
		got := r.replay(t, []byte(request))
		require.Equal(t, http.StatusOK, got.status, got.text)
		assert.Empty(t, got.text)

		pd := r.sink.one(t)
		require.Equal(t, 1, pd.ResourceProfiles().Len())
		resource := pd.ResourceProfiles().At(0)
		assert.Equal(t, map[string]any{
			"service.name": "checkout", "deployment.environment.name": "test", "service.version": "1.2.3",
			"host.name": "checkout-7d9f6c5b8-x2k4p", "service.instance.id": "8146e914-4f1b-48ad-bc52-899732c0e47c",
			"process_id": "20630", "profiler_version": "v2.12.0", "runtime_version": "1.26.8", "runtime_compiler": "gc",
			"runtime_arch": "amd64", "runtime_os": "linux", "team": "a", "profile_seq": "0", "runtime": "go", "pgo": "false",
			"_dd.profiler.go_execution_trace_enabled": "false",
			"entrypoint.basedir":                      "app", "entrypoint.name": "checkout", "entrypoint.type": "executable", "entrypoint.workdir": "app",
		}, resource.Resource().Attributes().AsRaw())

		payloads := payloadsOf(t, "dd-trace-go/")
		names := map[string]string{
			"delta-heap.pprof": "heap", "delta-block.pprof": "block", "delta-mutex.pprof": "mutex", "goroutines.pprof": "goroutines", "cpu.pprof": "cpu",
		}
		require.Len(t, payloads, len(names))
		require.Equal(t, len(payloads), resource.ScopeProfiles().Len())
		for i, payload := range payloads {
			scope := resource.ScopeProfiles().At(i)
			assertPayload(t, payload, pd.Dictionary(), scope)
			for _, name := range profileNames(pd.Dictionary(), scope) {
				assert.Equal(t, names[payload.Part], name)
			}
		}
		assert.Equal(t, map[string]int64{"datadog": 5}, r.counts("otelcol_receiver_pprof_payloads", "api"))
		assert.Equal(t, map[string]int64{"datadog": 1}, r.counts("otelcol_receiver_pprof_ignored_attachments", "api"))
		r.assertRefusals(t, nil)
	}
}

var asForm = []string{"Content-Type", multipartType}

const event = `{"start":"2026-11-21T05:54:31Z","end":"2026-11-21T05:54:34Z","tags_profiler":"service:checkout,env:test"}`

// TestDatadogForms accepts profiles in every compression, and forms of older clients.
func TestDatadogForms(t *testing.T) {
	body := plain(t, cpuProfile(2))
	for name, c := range map[string]struct {
		body    []byte
		headers []string
		want    string
	}{
		"plain":       {body: formOf("b", "cpu.pprof", string(body), "event", event), headers: asForm, want: "cpu"},
		"gzip":        {body: formOf("b", "cpu.pprof", string(gz(t, body)), "event", event), headers: asForm, want: "cpu"},
		"zstd":        {body: formOf("b", "delta-mutex.pprof", string(zs(t, body)), "event", event), headers: asForm, want: "mutex"},
		"event first": {body: formOf("b", "event", event, "auto.pprof", string(body)), headers: asForm},
		"lz4":         {body: formOf("b", "auto.pprof", string(lz4Of(t, bytes.NewReader(body))), "event", event), headers: asForm},
		"gzip in lz4": {body: formOf("b", "cpu.pprof", string(lz4Of(t, bytes.NewReader(gz(t, body)))), "event", event), headers: asForm, want: "cpu"},
		"version 3": {
			body: formOf("b", "version", "3", "start", "2026-11-21T05:54:31Z", "end", "2026-11-21T05:54:34Z", "tags[]", "service:checkout", "tags[]", "env:test",
				"data[cpu.pprof]", string(body)),
			headers: asForm, want: "cpu",
		},
		"older": {body: formOf("b", "data[cpu.pprof]", string(body), "event", event), headers: asForm, want: "cpu"},
		"oldest": {
			body: bytes.Replace(formOf("b", "recording-start", "2026-11-21T05:54:31Z", "recording-end", "2026-11-21T05:54:34Z", "tags[]", "service:checkout",
				"tags[]", "env:test", "types[0]", "wall", "data[0]", string(gz(t, body))), []byte(`filename="data[0]"`), []byte(`filename="wall.pb.gz"`), 1),
			headers: asForm, want: "wall",
		},
		"oldest, of Go": {
			body: bytes.Replace(formOf("b", "tags[]", "service:checkout", "tags[]", "env:test", "data[0]", string(gz(t, body))),
				[]byte(`filename="data[0]"`), []byte(`filename="pprof-data"`), 1),
			headers: asForm,
		},
		"whole form": {body: gz(t, formOf("b", "cpu.pprof", string(gz(t, body)), "event", event)), headers: append([]string{"Content-Encoding", "gzip"}, asForm...), want: "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, "/profiling/v1/input", c.body, c.headers...)
			require.Equal(t, http.StatusOK, got.status, got.text)
			pd := r.sink.one(t)
			assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(pd))
			assert.Equal(t, map[string]any{"service.name": "checkout", "deployment.environment.name": "test"}, r.sink.resource(t))
			assert.Equal(t, []string{c.want, c.want}, profileNames(pd.Dictionary(), pd.ResourceProfiles().At(0).ScopeProfiles().At(0)))
		})
	}
}

// TestDatadogResource: attributes of the program override those of the agent. A tag with several values becomes a list.
func TestDatadogResource(t *testing.T) {
	r := run(t, nil)
	body := formOf("b", "cpu.pprof", string(plain(t, cpuProfile(1))), "event", event)
	got := r.post(t, "/profiling/v1/input", body, append([]string{
		"X-Datadog-Additional-Tags", "host:node-1,default_env:none,agent_version:7.1",
		"X-Datadog-Container-Tags", "kube_namespace:shop,kube_service:web,kube_service:api,kube_service:web", "Datadog-Container-ID", "abc",
	}, asForm...)...)
	require.Equal(t, http.StatusOK, got.status, got.text)
	assert.Equal(t, map[string]any{
		"service.name": "checkout", "deployment.environment.name": "test", "host.name": "node-1", "agent_version": "7.1",
		"kube_namespace": "shop", "kube_service": []any{"web", "api"}, "container.id": "abc",
	}, r.sink.resource(t))
}

// TestDatadogTimes: profiles without a time get that of the event, or of the form if there is no event.
func TestDatadogTimes(t *testing.T) {
	p := cpuProfile(1)
	p.TimeNanos, p.DurationNanos = 0, 0
	body := string(plain(t, p))
	for _, form := range [][]byte{
		formOf("b", "cpu.pprof", body, "event", event),
		formOf("b", "start", "2026-11-21T05:54:31Z", "end", "2026-11-21T05:54:34Z", "data[cpu.pprof]", body),
	} {
		profile := firstProfile(t, "/profiling/v1/input", form, asForm...)
		assert.Equal(t, "2026-11-21 05:54:31 +0000 UTC", profile.Time().String())
		assert.Equal(t, uint64(3_000_000_000), profile.DurationNano())
	}
}

// TestDatadogPartial: the valid profiles of an upload are accepted, and the answer names the invalid ones.
func TestDatadogPartial(t *testing.T) {
	r := run(t, nil)
	good := string(plain(t, cpuProfile(2)))
	got := r.post(t, "/profiling/v1/input", formOf("b", "cpu.pprof", good, "heap.pprof", "garbage", "delta-block.pprof", good, "empty.pprof", "", "event", event), asForm...)
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Contains(t, got.text, "1 of 4 profiles refused, the others are accepted: heap.pprof: ")
	pd := r.sink.one(t)
	scopes := pd.ResourceProfiles().At(0).ScopeProfiles()
	require.Equal(t, 2, scopes.Len())
	assert.Equal(t, "cpu", profileNames(pd.Dictionary(), scopes.At(0))[0])
	assert.Equal(t, "block", profileNames(pd.Dictionary(), scopes.At(1))[0])
	r.assertRefusals(t, map[string]int64{"malformed": 1})
	assert.Equal(t, map[string]int64{"malformed": 1}, r.counts("otelcol_receiver_pprof_refused_payloads", "reason"))
	assert.EqualValues(t, 8, r.standard(t, "otelcol_receiver_accepted_profile_samples"), "two samples of two types, twice")
	assert.EqualValues(t, 0, r.standard(t, "otelcol_receiver_refused_profile_samples"))
}

func TestDatadogRefusals(t *testing.T) {
	good := string(plain(t, cpuProfile(2)))
	checkRefusals(t, "/profiling/v1/input", nil, map[string]refused{
		"no form":         {body: []byte(good), status: 415, reason: "unknown_format", says: "only multipart/form-data"},
		"all bad":         {body: formOf("b", "cpu.pprof", "x", "heap.pprof", "y", "event", event), headers: asForm, status: 400, reason: "malformed", says: "2 of 2 profiles refused: cpu.pprof: "},
		"bad event":       {body: formOf("b", "cpu.pprof", good, "event", "{"), headers: asForm, status: 400, reason: "malformed", says: "cannot read the event"},
		"bad start":       {body: formOf("b", "cpu.pprof", good, "start", "yesterday"), headers: asForm, status: 400, reason: "malformed", says: "cannot read the field start"},
		"many tag fields": {body: formOf("b", append([]string{"cpu.pprof", good}, slices.Repeat([]string{"tags[]", "a:b"}, 129)...)...), headers: asForm, status: 413, reason: "too_large", says: "128 labels"},
		"1 MB tag":        {body: formOf("b", "cpu.pprof", good, "event", `{"tags_profiler":"a:`+strings.Repeat("x", 1<<20)+`"}`), headers: asForm, status: 413, reason: "too_large", says: "the limit is 16384"},
		"bad jfr":         {body: formOf("b", "main.jfr", "x", "event", event), headers: asForm, status: 400, reason: "malformed", says: "main.jfr: malformed JFR recording"},
		"10,000 parts":    {body: formOf("b", slices.Repeat([]string{"x.json", "1"}, 10_000)...), headers: asForm, status: 413, reason: "too_large", says: "more than 288 parts"},
		"truncated":       {body: formOf("b", "cpu.pprof", good, "event", event)[:100], headers: asForm, status: 400, reason: "malformed", says: "unexpected EOF"},
		"not an event":    {body: formOf("b", "cpu.pprof", good, "event", `{"tags_profiler":"a:b"}x`), headers: asForm, status: 400, reason: "malformed", says: "cannot read the event"},
		"large event":     {body: formOf("b", "cpu.pprof", good, "event", strings.Repeat(" ", maxEventBytes+1)), headers: asForm, status: 413, reason: "too_large", says: "bytes of the event"},
		"process tags":    {body: formOf("b", "cpu.pprof", good, "event", `{"tags_profiler":"`+strings.Repeat("a:b,", 100)+`","process_tags":"`+strings.Repeat("a:b,", 29)+`"}`), headers: asForm, status: 413, reason: "too_large", says: "128 labels"},
		"too many tags":   {body: formOf("b", "cpu.pprof", good, "event", `{"tags_profiler":"`+strings.Repeat("a:b,", 129)+`"}`), headers: asForm, status: 413, reason: "too_large", says: "128 labels"},
		"agent's tags":    {body: formOf("b", "cpu.pprof", good), headers: append([]string{"X-Datadog-Additional-Tags", strings.Repeat("a:b,", 129)}, asForm...), status: 413, reason: "too_large", says: "128 labels"},
		"wrong boundary":  {body: formOf("c", "cpu.pprof", good, "event", event), headers: asForm, status: 400, reason: "malformed", says: `boundary "b"`},
		"bomb":            {body: formOf("b", "cpu.pprof", string(gzipBomb(t)), "event", event), headers: asForm, status: 413, reason: "too_large", says: "cpu.pprof: "},
		"nested":          {body: formOf("b", "cpu.pprof", string(zs(t, gzipBomb(t))), "event", event), headers: asForm, status: 413, reason: "too_large", says: "cpu.pprof: "},
		"lz4 bomb":        {body: formOf("b", "cpu.pprof", string(lz4Of(t, zeros(200<<20))), "event", event), headers: asForm, status: 413, reason: "too_large", says: "limits.inflated_bytes"},
		"broken lz4":      {body: formOf("b", "cpu.pprof", string(lz4Of(t, bytes.NewReader([]byte(good)))[:40]), "event", event), headers: asForm, status: 400, reason: "malformed", says: "cannot unpack"},
		"broken zstd":     {body: formOf("b", "cpu.pprof", string(zs(t, []byte(good))[:40]), "event", event), headers: asForm, status: 400, reason: "malformed", says: "cpu.pprof: "},
	})
}

// TestRequestLimits tests the limits that apply to all profiles of a request together.
func TestRequestLimits(t *testing.T) {
	one := string(plain(t, cpuProfile(10)))
	upload := formOf("b", "a.pprof", one, "b.pprof", one, "c.pprof", one, "event", event)
	for name, change := range map[string]func(*LimitsConfig, int){
		"payloads":       func(l *LimitsConfig, extra int) { l.Payloads = 3 + extra },
		"inflated_bytes": func(l *LimitsConfig, extra int) { l.InflatedBytes = 3*len(one) + extra },
		"samples":        func(l *LimitsConfig, extra int) { l.Samples = 60 + extra },
	} {
		for extra, want := range map[int]int{0: http.StatusOK, -1: http.StatusRequestEntityTooLarge} {
			r := run(t, func(cfg *Config, _ *ServerConfig) { change(&cfg.Limits, extra) })
			got := r.post(t, "/profiling/v1/input", upload, asForm...)
			assert.Equal(t, want, got.status, "%s %+d: %s", name, extra, got.text)
			if extra < 0 {
				assert.Contains(t, got.text, "limits."+name)
				assert.Empty(t, r.sink.all(), "nothing of a request that is too large is passed on")
			}
		}
	}
}

// TestManyBombsInForm is TestManyBombs for containers and recordings.
func TestManyBombsInForm(t *testing.T) {
	const limit = 1 << 20
	damaged := append([]byte{0x1f, 0x8b, 0}, make([]byte, limit-3)...)
	wrongSum := gz(t, make([]byte, limit))
	wrongSum[len(wrongSum)-8]++
	for name, c := range map[string]struct {
		part    string
		content []byte
	}{
		"lz4 of a damaged gzip":       {"x.pprof", lz4Of(t, bytes.NewReader(damaged))},
		"zip of a damaged gzip":       {"x.jfr", zipOf(t, func() io.Reader { return bytes.NewReader(damaged) }, "x.jfr")},
		"lz4 above the limit":         {"x.pprof", lz4Of(t, zeros(limit+1))},
		"recording, wrong checksum":   {"x.jfr", wrongSum},
		"recording, above the limit":  {"x.jfr", gzipped(t, zeros(limit+1))},
		"recording in gzip in an lz4": {"x.jfr", lz4Of(t, bytes.NewReader(wrongSum))},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.Limits.InflatedBytes = limit })
			fields := append(slices.Repeat([]string{c.part, string(c.content)}, wasteFactor+1), "good.pprof", string(plain(t, cpuProfile(1))), "event", event)
			got := r.post(t, "/profiling/v1/input", formOf("b", fields...), asForm...)
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
			assert.Regexp(t, "inflate to [0-9]+ bytes, the limit is 4194304", got.text)
			assert.Empty(t, r.sink.all())
		})
	}
}

// TestLargeContainers: a container counts with its size after unpacking, also if the pprof in it is small.
func TestLargeContainers(t *testing.T) {
	const limit = 1 << 20
	r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.Limits.InflatedBytes = limit })
	part := []string{"x.pprof", string(lz4Of(t, bytes.NewReader(zstdPadded(t, plain(t, cpuProfile(1)), limit/2))))}
	for parts, status := range map[int]int{1: http.StatusOK, 2: http.StatusRequestEntityTooLarge} {
		got := r.post(t, "/profiling/v1/input", formOf("b", append(slices.Repeat(part, parts), "event", event)...), asForm...)
		assert.Equal(t, status, got.status, got.text)
		if parts > 1 {
			assert.Contains(t, got.text, "inflate to more than limits.inflated_bytes, 1048576")
		}
	}
	assert.Len(t, r.sink.all(), 1)
}

// TestOneRefusalForAll: the profiles of a request are passed on as one message, so that the sender repeats all of them or
// none.
func TestOneRefusalForAll(t *testing.T) {
	r := run(t, nil)
	r.sink.consume = func(context.Context) error { return errors.New("data refused due to high memory usage") }
	good := string(plain(t, cpuProfile(2)))
	got := r.post(t, "/profiling/v1/input", formOf("b", "a.pprof", good, "b.pprof", good, "bad.pprof", "x", "event", event), asForm...)
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "5", got.header.Get("Retry-After"))
	r.assertRefusals(t, map[string]int64{"consumer_unavailable": 1})
	assert.Empty(t, r.counts("otelcol_receiver_pprof_refused_payloads", "reason"), "the request is retried")
}
