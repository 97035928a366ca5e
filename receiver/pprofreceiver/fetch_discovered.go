// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// nameDiscovery is what the component status has instead of a target if targets are left out.
const nameDiscovery = "discovery"

// discoveredJobs starts and stops jobs as extensions discover and lose their targets.
type discoveredJobs struct {
	*scrape
	// static has the keys of the jobs of configured targets, which must not start a second time.
	static map[string]bool

	mu sync.Mutex
	// targets are the current targets of each extension, in the order of the option discovery, sorted by position.
	targets [][]*discovery.Target
	// possible has the jobs of each target. Some of them do not run: see choose.
	possible map[*discovery.Target][]*job
	running  map[string]*job
}

func newDiscoveredJobs(s *scrape) *discoveredJobs {
	d := &discoveredJobs{
		scrape: s, static: map[string]bool{}, targets: make([][]*discovery.Target, len(s.cfg.Discovery)), running: map[string]*job{},
	}
	for _, one := range s.jobs {
		d.static[one.key] = true
	}
	return d
}

// subscribe subscribes to the extensions. From then on, they can call update. The error says that an
// extension does not exist or does not discover targets.
func (d *discoveredJobs) subscribe(host component.Host) error {
	for i, id := range d.cfg.Discovery {
		provider, err := discovery.Find(host, id)
		if err != nil {
			return err
		}
		d.subscriptions = append(d.subscriptions, provider.Subscribe(func(targets []*discovery.Target) { d.update(i, targets) }))
	}
	return nil
}

// update starts the jobs of new targets of an extension and stops those of targets that are gone.
func (d *discoveredJobs) update(extension int, targets []*discovery.Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.targets[extension] = slices.SortedStableFunc(slices.Values(targets), byPosition)
	wanted, leftOut := d.choose()
	if leftOut > 0 {
		d.health.set(nameDiscovery, fmt.Errorf("%d targets are left out: the URLs of the others have more than %d bytes together", leftOut, maxURLBytes))
	} else {
		d.health.forget(nameDiscovery)
	}
	for key, before := range d.running {
		// A job whose settings are equal goes on: it keeps its counters and its place in the interval.
		if now := wanted[key]; now != nil && now.equal(before) {
			delete(wanted, key)
			continue
		}
		delete(d.running, key)
		d.stop(before.task)
		d.health.forget(before.target)
	}
	for key, one := range wanted {
		d.running[key] = one
		d.startDiscovered(one)
	}
}

// startDiscovered starts a job, unless it is invalid. A hash of the key decides when its fetches are within the interval, so that the
// receiver does not fetch thousands of targets at the same time that were discovered at the same time.
func (d *discoveredJobs) startDiscovered(one *job) {
	if one.invalid != nil {
		d.health.set(one.target, one.invalid)
		return
	}
	one.task = d.startJob(one, ScheduleConfig{CollectionInterval: one.interval, InitialDelay: untilPlace(time.Now(), one.interval, one.key)}, 0)
}

// untilPlace returns the time until the next fetch for a key. The times of the fetches depend on the key and the clock, and not on the
// start of the process.
func untilPlace(now time.Time, interval time.Duration, key string) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(key))
	length := uint64(interval)
	place := hash.Sum64() % length
	passed := (uint64(now.UnixNano()) - place) % length
	return time.Duration(length - passed)
}

// byPosition has the containers of a pod in the order of its specification. The first one is its program, by convention, the others
// are sidecars. This order stays when a container is restarted.
func byPosition(a, b *discovery.Target) int { return cmp.Compare(a.Position, b.Position) }

// maxURLBytes limits the URLs of the jobs of all discovered targets: targets can share long parameters, and each job has its own URL.
const maxURLBytes = 32 << 20

// choose returns one job for each profile of each URL, so that the receiver fetches nothing twice. If several targets have the same
// URL, it prefers the target that was discovered with that port, or else the first. Targets above maxURLBytes have no jobs: leftOut is their number.
func (d *discoveredJobs) choose() (wanted map[string]*job, leftOut int) {
	possible := make(map[*discovery.Target][]*job, len(d.possible))
	wanted = make(map[string]*job, len(d.running))
	urlBytes := 0
	for _, targets := range d.targets {
		for _, target := range targets {
			if urlBytes > maxURLBytes {
				leftOut++
				continue
			}
			jobs, known := d.possible[target]
			if !known {
				jobs = d.cfg.jobsOf(target)
			}
			possible[target] = jobs
			for _, one := range jobs {
				urlBytes += len(one.key)
				if other := wanted[one.key]; !d.static[one.key] && (other == nil || one.ownPort && !other.ownPort) {
					wanted[one.key] = one
				}
			}
		}
	}
	d.possible = possible
	return wanted, leftOut
}
