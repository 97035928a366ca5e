// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// profileAliases maps names of other systems to profiles of Go, in the order of preference.
var profileAliases = map[string][]string{
	"memory":      {profileAllocs, profileHeap},
	"process_cpu": {profileCPU},
}

// jobsOf returns a job for each profile to fetch from a discovered target.
func (cfg *ScrapeConfig) jobsOf(target *discovery.Target) []*job {
	own := make(map[string]discovery.Profile, len(target.Profiles))
	for name, settings := range target.Profiles {
		own[cfg.profileName(name)] = settings
	}
	var jobs []*job
	for _, profile := range cfg.Profiles {
		settings, named := own[profile.Name]
		if settings.Skip || target.Listed && !named {
			continue
		}
		jobs = append(jobs, cfg.discoveredJob(target, settings, profile))
	}
	return jobs
}

// profileName returns the name of a profile in the section scrape, for a name or an alias.
func (cfg *ScrapeConfig) profileName(name string) string {
	for _, candidate := range append([]string{name}, profileAliases[name]...) {
		if slices.ContainsFunc(cfg.Profiles, func(p ScrapedProfile) bool { return p.Name == candidate }) {
			return candidate
		}
	}
	return name
}

func (cfg *ScrapeConfig) discoveredJob(target *discovery.Target, own discovery.Profile, profile ScrapedProfile) *job {
	if own.Path != "" {
		profile.Path = own.Path
	}
	profile = cfg.resolveBelow(cmp.Or(target.PathPrefix, cfg.PathPrefix), profile)
	base := &url.URL{Scheme: cmp.Or(own.Scheme, target.Scheme, "http"), Host: discovery.WithPort(target.Address, own.Port)}
	one := cfg.newJob(base, profile, target.Params, target.Attributes)
	one.ownPort = base.Host == target.Origin
	one.interval = cmp.Or(target.Interval, cfg.Schedule.CollectionInterval)
	one.timeout = cmp.Or(target.Timeout, one.timeout)
	if length := time.Duration(profile.Seconds) * time.Second; length >= one.interval || length >= one.timeout {
		one.invalid = fmt.Errorf("seconds, %d, must be below the interval, %s, and the timeout, %s, of the target",
			profile.Seconds, one.interval, one.timeout)
	}
	return one
}
