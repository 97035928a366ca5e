// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// discoveredJobs starts and stops jobs as extensions discover and lose their targets.
type discoveredJobs struct {
	*scrape
	client *http.Client
	state  *health
	// static has the keys of the jobs of configured targets, which must not start a second time.
	static      map[string]bool
	unsubscribe []func()

	mu sync.Mutex
	// targets are the current targets of each extension, in the order of the option discovery, sorted by position.
	targets [][]*discovery.Target
	// possible has the jobs of each target. Some of them do not run: see choose.
	possible map[*discovery.Target][]*discoveredJob
	running  map[string]*discoveredJob
}

func newDiscoveredJobs(s *scrape, client *http.Client, state *health) *discoveredJobs {
	d := &discoveredJobs{
		scrape: s, client: client, state: state, static: map[string]bool{}, targets: make([][]*discovery.Target, len(s.cfg.Discovery)),
	}
	for _, one := range s.jobs {
		d.static[one.key()] = true
	}
	return d
}

// start subscribes to the extensions. From then on, they can call update. The error says that an
// extension does not exist or does not discover targets.
func (d *discoveredJobs) start(host component.Host) error {
	for i, id := range d.cfg.Discovery {
		provider, err := discovery.Find(host, id)
		if err != nil {
			return err
		}
		d.unsubscribe = append(d.unsubscribe, provider.Subscribe(func(targets []*discovery.Target) { d.update(i, targets) }))
	}
	return nil
}

// stop ends the subscriptions and stops all jobs. It does not wait for fetches in progress: their context is cancelled.
func (d *discoveredJobs) stop() {
	for _, unsubscribe := range d.unsubscribe {
		unsubscribe()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.running {
		one.stop()
	}
	d.running = nil
}

// update starts the jobs of new targets of an extension and stops those of targets that are gone.
func (d *discoveredJobs) update(extension int, targets []*discovery.Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.targets[extension] = slices.SortedStableFunc(slices.Values(targets), byPosition)
	wanted := d.choose()
	for key, before := range d.running {
		// A job whose settings are equal goes on: it keeps its counters and its place in the interval.
		if now := wanted[key]; now != nil && now.equal(before) {
			wanted[key] = before
			continue
		}
		before.stop()
		d.state.forget(before.url.Redacted())
	}
	for key, one := range wanted {
		if d.running[key] != one {
			one.start(d)
		}
	}
	d.running = wanted
}

// byPosition has the containers of a pod in the order of its specification. The first one is its program, by convention, the others
// are sidecars. This order stays when a container is restarted.
func byPosition(a, b *discovery.Target) int { return cmp.Compare(a.Position, b.Position) }

// choose returns one job for each profile of each URL, so that the receiver fetches nothing twice. If several targets have the same
// URL, it prefers the target that was discovered with that port, or else the first.
func (d *discoveredJobs) choose() map[string]*discoveredJob {
	possible := make(map[*discovery.Target][]*discoveredJob, len(d.possible))
	wanted := make(map[string]*discoveredJob, len(d.running))
	for _, targets := range d.targets {
		for _, target := range targets {
			jobs, known := d.possible[target]
			// A stopped job does not start again: its last fetch can still be in progress.
			if !known || slices.ContainsFunc(jobs, (*discoveredJob).hasStopped) {
				jobs = d.cfg.discoveredJobs(target)
			}
			possible[target] = jobs
			for _, one := range jobs {
				key := one.key()
				if other := wanted[key]; !d.static[key] && (other == nil || one.ownPort && !other.ownPort) {
					wanted[key] = one
				}
			}
		}
	}
	d.possible = possible
	return wanted
}

// report counts a fetch and sets the status of its URL.
func (d *discoveredJobs) report(ctx context.Context, one *discoveredJob, outcome string, err error) {
	d.metrics.fetched(ctx, outcome)
	d.state.set(one.url.Redacted(), err)
}
