// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
)

// program is a server of net/http/pprof, which counts how often it is asked.
type program struct {
	*httptest.Server
	asked atomic.Int64
}

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{}
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/goroutine", pprof.Handler("goroutine"))
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *program) address() string { return strings.TrimPrefix(p.URL, "http://") }

// scrape starts a receiver that scrapes what the extension discovers.
func (r *running) scrape(t *testing.T) *consumertest.ProfilesSink {
	t.Helper()
	factory := pprofreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"scrape": map[string]any{
		"discovery": []any{"target_discovery"}, "profiles": []any{"goroutine"}, "collection_interval": "50ms",
	}}).Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	sink := &consumertest.ProfilesSink{}
	receiver := must.Get(factory.CreateProfiles(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, sink))(t)
	// A host of its own: the status of the receiver is not that of the extension.
	require.NoError(t, receiver.Start(t.Context(), &host{extensions: r.host.extensions}))
	t.Cleanup(func() { require.NoError(t, receiver.Shutdown(context.Background())) })
	return sink
}

// services are the services of which profiles came.
func services(sink *consumertest.ProfilesSink) map[string]int {
	counts := map[string]int{}
	for _, message := range sink.AllProfiles() {
		for _, resource := range message.ResourceProfiles().All() {
			name, _ := resource.Resource().Attributes().Get("service.name")
			counts[name.Str()]++
		}
	}
	return counts
}

// assertStops: a program that is no target any more is not asked any more.
func assertStops(t *testing.T, p *program) {
	t.Helper()
	var before int64
	eventually(t, func() bool {
		now := p.asked.Load()
		still := now == before
		before = now
		time.Sleep(120 * time.Millisecond) // more than two intervals
		return still
	})
}

// TestFiles: targets come and go with a file; a damaged one changes nothing.
func TestFiles(t *testing.T) {
	t.Parallel()
	one, other := newProgram(t), newProgram(t)
	file := filepath.Join(t.TempDir(), "targets.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write(fmt.Sprintf("- targets: [%q]\n  labels: {service.name: one}\n", one.address()))
	r := run(t, fmt.Sprintf("file_sd_configs: [{files: [%q], refresh_interval: 100ms}]", file))
	sink := r.scrape(t)
	r.wait(t, one.address())
	eventually(t, func() bool { return services(sink)["one"] > 1 })

	write(fmt.Sprintf("- targets: [%q]\n  labels: {service.name: one}\n- targets: [%q]\n  labels: {service.name: other}\n", one.address(), other.address()))
	eventually(t, func() bool { return services(sink)["other"] > 1 })

	write("- targets: {")
	r.waitErr(t, "file_sd_configs[0]: "+file+": error reading file: yaml")
	assert.Len(t, r.addresses(), 2, "the last known targets stay")
	eventually(t, func() bool { return r.count("failures", "file") > 4 })
	// Targets that were read before the failure can have arrived after it, so that it ended and began again.
	logged := func() int { return r.logs.FilterMessage("Cannot discover targets, the last known ones stay").Len() }
	lines, failures := logged(), r.count("failures", "file")
	assert.Positive(t, lines)
	eventually(t, func() bool { return r.count("failures", "file") > failures+4 })
	assert.Equal(t, lines, logged(), "not logged each time")

	write(fmt.Sprintf("- targets: [%q]\n  labels: {service.name: other}\n", other.address()))
	r.wait(t, other.address())
	eventually(t, func() bool { return r.host.err() == nil })
	assertStops(t, one)

	write("- targets: {")
	eventually(t, func() bool { return r.host.err() != nil })
	write("[]")
	r.wait(t)
	eventually(t, func() bool { return r.host.err() == nil })
}

// TestFileWithUnprintableName: its failure ends when it is read again, not after two of the intervals.
func TestFileWithUnprintableName(t *testing.T) {
	t.Parallel()
	const space = "\u00a0"
	file := filepath.Join(t.TempDir(), "my"+space+"targets.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("- targets: {")
	r := run(t, fmt.Sprintf("file_sd_configs: [{files: [%q], refresh_interval: 1h}]", file))
	r.waitErr(t, "my targets.yaml: error reading file: yaml")
	write("- targets: ['10.0.0.1:6060']")
	eventually(t, func() bool { return r.host.err() == nil })
}

// TestHTTP: targets come and go with the answers of a server; an error changes nothing.
func TestHTTP(t *testing.T) {
	t.Parallel()
	one, other := newProgram(t), newProgram(t)
	var answer atomic.Pointer[string]
	set := func(text string) { answer.Store(&text) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := *answer.Load()
		if text == "" {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	set(fmt.Sprintf(`[{"targets": [%q, "bad:1/x"], "labels": {"service_name": "one"}}]`, one.address()))
	r := run(t, fmt.Sprintf("{max_response_size: 2000, http_sd_configs: [{url: %q, refresh_interval: 250ms}]}", server.URL))
	sink := r.scrape(t)
	eventually(t, func() bool { return services(sink)["one"] > 1 })
	r.waitErr(t, `1 targets cannot be scraped, the first: target "bad:1/x": __address__ must be a host and port`)
	assert.EqualValues(t, 1, r.count("targets", "invalid"))

	set(fmt.Sprintf(`[{"targets": [%q], "labels": {"job": "other"}}, {"targets": [%q]}]`, other.address(), one.address()))
	eventually(t, func() bool { return services(sink)["other"] > 1 })
	eventually(t, func() bool { return r.host.err() == nil })

	for text, want := range map[string]string{
		"": "server returned HTTP status 500", "[{": "cannot read the answer: unexpected EOF",
		strings.Repeat(" ", 3000):               "it is larger than max_response_size, 2000 bytes",
		"[" + strings.Repeat("{},", 15) + "{}]": "it needs more than 16000 bytes of memory, 8 times max_response_size",
	} {
		set(text)
		r.waitErr(t, want)
		assert.Len(t, r.addresses(), 2, want)
	}
	assert.Positive(t, r.count("failures", "http"))
	set(fmt.Sprintf(`[{"targets": [%q]}]`, other.address()))
	r.wait(t, other.address())
	eventually(t, func() bool { return r.host.err() == nil })
	assertStops(t, one)
}

// TestHTTPLongHeaders: errors do not have what is long in the header of an answer.
func TestHTTPLongHeaders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\xff", 500<<10)
	for want, header := range map[string]http.Header{
		"unsupported content type": {"Content-Type": {long}},
		"unable to refresh":        {"Location": {"/%" + long}}, // It cannot be parsed.
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), header)
			if header.Get("Location") != "" {
				w.WriteHeader(http.StatusFound)
			}
		}))
		t.Cleanup(server.Close)
		r := run(t, fmt.Sprintf("{http_sd_configs: [{url: %q, refresh_interval: 250ms}]}", server.URL))
		r.waitErr(t, want)
		assert.Less(t, len(r.host.err().Error()), 5000)
		for _, entry := range r.logs.All() {
			for _, field := range entry.Context {
				assert.Less(t, len(field.String), 5000)
			}
		}
	}
}

// TestMaxTargets: targets above the limit are left out, counted and logged; those that are there stay.
func TestMaxTargets(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "targets.json")
	write := func(targets string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(`[{"targets": [`+targets+`]}]`), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write(`"c:1", "d:1"`)
	r := run(t, fmt.Sprintf("{max_targets: 2, file_sd_configs: [{files: [%q], refresh_interval: 100ms}]}", file))
	r.wait(t, "c:1", "d:1")
	write(`"a:1", "b:1", "c:1", "d:1", "e:1"`)
	eventually(t, func() bool { return r.count("targets", "over_limit") == 3 })
	r.wait(t, "c:1", "d:1")
	r.waitErr(t, "3 targets above max_targets, 2")
	assert.Equal(t, 1, r.logs.FilterMessage("More targets than max_targets: the others are not scraped").Len())
	write(`"a:1", "d:1"`)
	r.wait(t, "a:1", "d:1")
	eventually(t, func() bool { return r.host.err() == nil })
	assert.EqualValues(t, 2, r.count("targets", "passed_on"))
}
