// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// fetchTimeout is the default timeout of an answer, in addition to the seconds for which the target is to profile.
const fetchTimeout = 30 * time.Second

// job is one profile of one target. It does not change.
type job struct {
	// key has the name of the profile and target. Jobs with equal keys would fetch the same profile.
	key string
	// target is the URL without a password.
	target  string
	url     *url.URL
	profile ScrapedProfile
	// labels become attributes of the resource.
	labels map[string]string
	// timeout is for one fetch, 0 is no limit.
	timeout time.Duration

	// interval, ownPort and invalid are those of a discovered target. ownPort says that the host and port of the URL are those with
	// which it was discovered, invalid why its settings do not allow a fetch.
	interval time.Duration
	ownPort  bool
	invalid  error
}

// newJob returns the job for a profile of the target with this URL. It ignores seconds in params, since the profile has them.
func (cfg *ScrapeConfig) newJob(base *url.URL, profile ScrapedProfile, params, labels map[string]string) *job {
	address := base.JoinPath(profile.Path)
	if len(params) > 0 || profile.Seconds > 0 {
		query := address.Query()
		for name, value := range params {
			if name != "seconds" {
				query.Set(name, value)
			}
		}
		if profile.Seconds > 0 {
			query.Set("seconds", strconv.Itoa(profile.Seconds))
		}
		address.RawQuery = query.Encode()
	}
	timeout := cfg.HTTP.Timeout
	if timeout == 0 {
		timeout = fetchTimeout + time.Duration(profile.Seconds)*time.Second
	}
	key := profile.Name + " " + address.Redacted()
	return &job{key: key, target: key[len(profile.Name)+1:], url: address, profile: profile, labels: labels, timeout: timeout}
}

// equal reports whether both fetch the same, equally often, from the same resource.
func (j *job) equal(other *job) bool {
	return j == other || j.key == other.key && j.interval == other.interval && j.timeout == other.timeout &&
		j.profile == other.profile && maps.Equal(j.labels, other.labels)
}

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
	profile = cfg.resolve(cmp.Or(target.PathPrefix, cfg.PathPrefix), profile)
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
