// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// TestDiscoveredContainers: of the containers of a pod, none of which declares the port, the first one has the profiles, whatever
// the order in which they are passed on. A restart of another container does not change the job.
func TestDiscoveredContainers(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	container := func(position int, name, id string) *discovery.Target {
		return &discovery.Target{
			Address: addressOf(to), Origin: "127.0.0.1", Position: position,
			Attributes: map[string]string{"k8s.container.name": name, "container.id": id},
		}
	}
	found := &someDiscovery{}
	found.set(container(1, "sidecar", "a"), container(0, "app", "b"))
	r, _ := runDiscovered(t, found, func(cfg *ScrapeConfig) { cfg.Profiles = []ScrapedProfile{{Name: profileMutex}} })
	outcomes := func() map[string]int64 { return r.counts("otelcol_receiver_pprof_fetches", "outcome") }
	r.waitOutcome(t, "ok", 1)

	for _, id := range []string{"c", "", "a"} {
		found.set(container(0, "app", "b"), container(1, "sidecar", id))
		r.waitOutcome(t, "ok", outcomes()["ok"]+2)
		found.set(container(1, "sidecar", id), container(0, "app", "b"))
		r.waitOutcome(t, "ok", outcomes()["ok"]+2)
	}
	assert.EqualValues(t, 1, outcomes()["baseline"], "the job goes on")
	for _, message := range r.sink.all() {
		name, _ := message.ResourceProfiles().At(0).Resource().Attributes().Get("k8s.container.name")
		require.Equal(t, "app", name.Str())
	}
}

// TestDiscoveredPreference: the port decides before the order of the extensions, and that before the position.
func TestDiscoveredPreference(t *testing.T) {
	cfg := defaultScrapeConfig()
	cfg.Discovery = []component.ID{discoveryID, component.MustNewIDWithName("some_discovery", "2")}
	cfg.Profiles = []ScrapedProfile{{Name: profileHeap}}
	d := newIdleJobs(&cfg)
	container := func(name, origin string, position int) *discovery.Target {
		return &discovery.Target{
			Address: "10.0.0.1:6060", Origin: origin, Position: position, Attributes: map[string]string{"k8s.container.name": name},
		}
	}
	chosen := func() string {
		return d.running["heap http://10.0.0.1:6060/debug/pprof/heap"].job.labels["k8s.container.name"]
	}
	defer func() { require.NoError(t, d.shutdown(t.Context())) }()
	d.update(1, []*discovery.Target{container("second extension", "10.0.0.1", 0)})
	assert.Equal(t, "second extension", chosen())
	d.update(0, []*discovery.Target{container("b", "10.0.0.1:9000", 2), container("a", "10.0.0.1:9001", 1)})
	assert.Equal(t, "a", chosen(), "the first extension goes first, and there the first position")
	d.update(1, []*discovery.Target{container("second extension", "10.0.0.1:6060", 5)})
	assert.Equal(t, "second extension", chosen(), "it declares the port")
}
