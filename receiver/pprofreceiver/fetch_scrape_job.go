// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"net/url"
	"strconv"
	"time"
)

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
