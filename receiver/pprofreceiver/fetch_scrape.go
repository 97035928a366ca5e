// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// scrape fetches profiles over HTTP: those of the section scrape, several from several targets, or the one of the section remote.
type scrape struct {
	*collector
	cfg *ScrapeConfig
	// jobs are those of the configured targets.
	jobs []*job
	// subscriptions end those to extensions that discover targets.
	subscriptions []func()
	// http configures client.
	http   confighttp.ClientConfig
	client httpclient.Client
	// slots limits how many profiles are translated at a time. The other answers wait compressed.
	slots chan struct{}
	asked askedTargets
}

func newScrape(set receiver.Settings, cfg *ScrapeConfig, in *intake) (*scrape, error) {
	c, err := newCollector(set, in, nameScrape, "http")
	if err != nil {
		return nil, err
	}
	s := &scrape{collector: c, cfg: cfg, http: cfg.HTTP, slots: make(chan struct{}, maxConcurrentProfiles)}
	s.http.Timeout = 0 // It depends on the profile.
	for i := range cfg.Targets {
		target := &cfg.Targets[i]
		base, err := target.url()
		if err != nil {
			return nil, err
		}
		for _, profile := range cfg.Profiles {
			s.jobs = append(s.jobs, cfg.newJob(base, cfg.resolve(cfg.PathPrefix, profile), nil, target.Labels))
		}
	}
	return s, s.metrics.observe(&s.remembered)
}

// newRemote returns a scrape of one URL.
func newRemote(set receiver.Settings, cfg *RemoteConfig, in *intake) (*scrape, error) {
	c, err := newCollector(set, in, nameRemote, "http")
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(cfg.HTTP.Endpoint)
	if err != nil {
		return nil, err
	}
	s := &scrape{
		collector: c, cfg: &ScrapeConfig{Schedule: cfg.Schedule, MaxResponseSize: cfg.MaxResponseSize},
		jobs: []*job{{url: target, target: target.Redacted(), profile: ScrapedProfile{Name: goProfiles[path.Base(target.Path)], Delta: DeltaOff}}},
		http: cfg.HTTP, slots: make(chan struct{}, 1),
	}
	if s.http.Timeout == 0 {
		s.http.Timeout = fetchTimeout + secondsOf(target)
	}
	return s, nil
}

// Start starts the schedules.
func (s *scrape) Start(ctx context.Context, host component.Host) error {
	var err error
	if s.client, err = httpclient.New(ctx, s.http, host, s.set.TelemetrySettings); err != nil {
		return err
	}
	s.begin(host)
	s.asked.limit = int(max(1, s.in.budget.Size()/askedPart/askedBytes))
	for _, one := range s.jobs {
		s.startJob(one, s.cfg.Schedule, min(maxJitter, s.cfg.Schedule.CollectionInterval/3))
	}
	return newDiscoveredJobs(s).subscribe(host)
}

func (s *scrape) startJob(one *job, schedule ScheduleConfig, jitter time.Duration) *task {
	answered := false
	return s.repeat(one.target, schedule, jitter, func(ctx context.Context, differences *tracker) (string, error) {
		return s.round(ctx, one, differences, &answered)
	})
}

// Shutdown stops the schedules and waits for the fetches in progress.
func (s *scrape) Shutdown(ctx context.Context) error {
	for _, unsubscribe := range s.subscriptions {
		unsubscribe()
	}
	err := s.shutdown(ctx)
	s.client.Close()
	return err
}

func (s *scrape) round(ctx context.Context, j *job, differences *tracker, answered *bool) (outcome string, err error) {
	ctx, cancel := withTimeout(ctx, j.timeout)
	defer cancel()
	m, err := s.in.begin(ctx, 0, cancel)
	if err != nil {
		return "", err
	}
	defer m.arrival.Release()
	asking, end, err := s.asked.begin(ctx, time.Duration(j.profile.Seconds)*time.Second, *answered)
	if err != nil {
		return "", err
	}
	body, err := s.get(asking, j.url.String(), m)
	*answered = classOf(err) != unreachable
	if end(); err != nil {
		return "", err
	}
	select {
	case s.slots <- struct{}{}:
		release := sync.OnceFunc(func() { <-s.slots })
		defer release()
		m.leave = release
	case <-ctx.Done():
		return "", newRefusal(busy, "%d other profiles are being processed: %w", cap(s.slots), ctx.Err())
	}
	return s.deliver(ctx, j.profile.Delta, differences, body, s.source(j), m)
}

// source returns what is known of the profiles of a target. Its labels override its address.
func (s *scrape) source(j *job) pprof.Source {
	source := s.in.newSource()
	source.Resource.PutStr("server.address", validText(j.url.Hostname()))
	if port, err := strconv.ParseInt(j.url.Port(), 10, 32); err == nil {
		source.Resource.PutInt("server.port", port)
	}
	for name, value := range j.labels {
		source.Resource.PutStr(validText(name), validText(value))
	}
	source.ProfileName = j.profile.Name
	return source
}

// fetchTimeout is the default timeout of an answer, in addition to the seconds for which the target is to profile.
const fetchTimeout = 30 * time.Second

// job is one profile of one target. Only task changes.
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
	// task repeats a discovered job. It is nil until the job starts, and if it is invalid.
	task *task
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
