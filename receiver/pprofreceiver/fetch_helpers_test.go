// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configoptional"
)

// soon is a schedule for tests.
func soon() ScheduleConfig {
	return ScheduleConfig{CollectionInterval: 10 * time.Millisecond}
}

// fetchConfig is a configuration without a server.
func fetchConfig() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Server = configoptional.None[ServerConfig]()
	return cfg
}

// scrapeConfig is a configuration that scrapes targets soon, and its section.
func scrapeConfig(endpoints ...string) (*Config, *ScrapeConfig) {
	cfg := fetchConfig()
	section := cfg.Scrape.GetOrInsertDefault()
	section.Schedule = soon()
	for _, endpoint := range endpoints {
		section.Targets = append(section.Targets, TargetConfig{Endpoint: endpoint})
	}
	return cfg, section
}

// remoteConfig is a configuration that fetches one profile soon, and its section.
func remoteConfig(endpoint string) (*Config, *RemoteConfig) {
	cfg := fetchConfig()
	section := cfg.Remote.GetOrInsertDefault()
	section.Schedule, section.HTTP.Endpoint = soon(), endpoint
	return cfg, section
}

// target is a program that serves profiles, as far as a test says.
type target struct {
	*httptest.Server
	mu      sync.Mutex
	asked   map[string]int
	respond http.HandlerFunc
}

func newTarget(t *testing.T, respond http.HandlerFunc) *target {
	t.Helper()
	to := &target{asked: map[string]int{}, respond: respond}
	to.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to.mu.Lock()
		to.asked[r.URL.RequestURI()]++
		respond := to.respond
		to.mu.Unlock()
		respond(w, r)
	}))
	t.Cleanup(to.Close)
	return to
}

// then changes what the target responds.
func (to *target) then(respond http.HandlerFunc) {
	to.mu.Lock()
	defer to.mu.Unlock()
	to.respond = respond
}

func (to *target) times(uri string) int {
	to.mu.Lock()
	defer to.mu.Unlock()
	return to.asked[uri]
}

// serve responds with a profile as Go does.
func serve(profile []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(profile)
	}
}

// watchingHost keeps the status events of the component, and has extensions.
type watchingHost struct {
	extensions map[component.ID]component.Component
	mu         sync.Mutex
	events     []*componentstatus.Event
}

func (h *watchingHost) GetExtensions() map[component.ID]component.Component { return h.extensions }

func (h *watchingHost) Report(event *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, event)
}

func (h *watchingHost) last() *componentstatus.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 {
		return nil
	}
	return h.events[len(h.events)-1]
}

// waitFor returns the last event once it has this status.
func (h *watchingHost) waitFor(t *testing.T, status componentstatus.Status) *componentstatus.Event {
	t.Helper()
	var last *componentstatus.Event
	require.Eventually(t, func() bool {
		last = h.last()
		return last != nil && last.Status() == status
	}, time.Minute, 2*time.Millisecond)
	return last
}

// waitOutcome waits until an outcome was counted n times at least.
func (r *running) waitOutcome(t *testing.T, outcome string, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return r.counts("otelcol_receiver_pprof_fetches", "outcome")[outcome] >= n }, time.Minute, 2*time.Millisecond,
		"%s", outcome)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
