// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/url"
	"path"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// scrape fetches profiles over HTTP: those of the section scrape, several from several targets, or the one of the section remote.
type scrape struct {
	*collector
	cfg *ScrapeConfig
	// jobs are those of the configured targets.
	jobs []*job
	// discovered is nil unless extensions discover targets.
	discovered *discoveredJobs
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
	if len(s.cfg.Discovery) == 0 {
		return nil
	}
	s.discovered = newDiscoveredJobs(s)
	return s.discovered.subscribe(host)
}

func (s *scrape) startJob(one *job, schedule ScheduleConfig, jitter time.Duration) *task {
	answered := false
	return s.repeat(one.target, schedule, jitter, func(ctx context.Context, differences *tracker) (string, error) {
		return s.round(ctx, one, differences, &answered)
	})
}

// Shutdown stops the schedules and waits for the fetches in progress.
func (s *scrape) Shutdown(ctx context.Context) error {
	if s.discovered != nil {
		for _, unsubscribe := range s.discovered.subscriptions {
			unsubscribe()
		}
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
	defer m.end()
	asking, end, err := s.asked.begin(ctx, time.Duration(j.profile.Seconds)*time.Second, *answered)
	if err != nil {
		return "", err
	}
	body, err := s.get(asking, j.url.String(), m)
	*answered = outcomeOf(err) != outcomeUnreachable
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
