// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// scrape fetches several profiles from several targets. Each profile of each target has a schedule of its own.
type scrape struct {
	*collector
	cfg    *ScrapeConfig
	set    component.TelemetrySettings
	jobs   []*job
	rounds *rounds
	client httpclient.Client
	// discovered is nil unless extensions discover targets.
	discovered *discoveredJobs
	// slots limits how many profiles are translated at a time. The other answers wait compressed.
	slots chan struct{}
}

// job is one profile of one target.
type job struct {
	url     *url.URL
	profile ScrapedProfile
	// labels become attributes of the resource.
	labels map[string]string
	// timeout is for one fetch.
	timeout time.Duration
	tracker tracker
}

func newScrape(set receiver.Settings, cfg *ScrapeConfig, in *intake) (*scrape, error) {
	c, err := newCollector(set, in, nameScrape, "http")
	if err != nil {
		return nil, err
	}
	s := &scrape{
		collector: c, cfg: cfg, set: set.TelemetrySettings, rounds: newRounds(), slots: make(chan struct{}, cfg.MaxConcurrentProfiles),
	}
	for i := range cfg.Targets {
		target := &cfg.Targets[i]
		base, err := target.url()
		if err != nil {
			return nil, err
		}
		for _, profile := range cfg.Profiles {
			s.jobs = append(s.jobs, cfg.newJob(base, cfg.resolve(profile), target.Labels))
		}
	}
	return s, nil
}

func (cfg *ScrapeConfig) newJob(base *url.URL, profile ScrapedProfile, labels map[string]string) *job {
	address := base.JoinPath(profile.Path)
	if profile.Seconds > 0 {
		query := address.Query()
		query.Set("seconds", strconv.Itoa(profile.Seconds))
		address.RawQuery = query.Encode()
	}
	timeout := cfg.HTTP.Timeout
	if timeout == 0 {
		timeout = fetchTimeout + time.Duration(profile.Seconds)*time.Second
	}
	return &job{url: address, profile: profile, labels: labels, timeout: timeout}
}

// Start starts the schedules.
func (s *scrape) Start(ctx context.Context, host component.Host) error {
	// The timeout depends on the profile: the client itself has none.
	settings := s.cfg.HTTP
	settings.Timeout = 0
	var err error
	if s.client, err = httpclient.New(ctx, settings, host, s.set); err != nil {
		return err
	}
	if err := s.metrics.observe(&s.remembered); err != nil {
		return err
	}
	state := newHealth(host, s.log)
	for _, one := range s.jobs {
		s.rounds.start(s.cfg.Schedule, func(ctx context.Context) {
			outcome, err := s.round(ctx, s.client.Client, one)
			if ctx.Err() == nil {
				s.metrics.fetched(ctx, outcome)
				state.set(one.url.Redacted(), err)
			}
		})
	}
	if len(s.cfg.Discovery) == 0 {
		return nil
	}
	s.discovered = newDiscoveredJobs(s, s.client.Client, state)
	return s.discovered.start(host) //nolint:contextcheck // the jobs outlive the start
}

// Shutdown stops the schedules and waits for the fetches in progress.
func (s *scrape) Shutdown(ctx context.Context) error {
	if s.discovered != nil {
		s.discovered.stop()
	}
	err := s.rounds.stop(ctx)
	s.client.Close()
	if err == nil {
		for _, one := range s.jobs {
			one.tracker.release()
		}
	}
	return err
}

func (s *scrape) round(ctx context.Context, client *http.Client, j *job) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()
	m, err := s.in.begin(ctx, 0, cancel)
	if err != nil {
		return outcomeOf(err), err
	}
	defer m.end()
	body, err := (&fetcher{client: client, limit: s.cfg.MaxResponseSize}).get(ctx, j.url.String(), m)
	if err != nil {
		return outcomeOf(err), err
	}
	select {
	case s.slots <- struct{}{}:
		release := sync.OnceFunc(func() { <-s.slots })
		defer release()
		m.leave = release
	case <-ctx.Done():
		err := refuse(classBusy, "%d other profiles are being processed (max_concurrent_profiles): %w", cap(s.slots), ctx.Err())
		return outcomeOf(err), err
	}
	source := s.source(j)
	switch j.profile.Delta {
	case DeltaComputed:
		return s.deliverDifference(ctx, &j.tracker, body, source, m)
	case DeltaTarget:
		err = s.deliverTargetDifference(ctx, body, source, m)
	case DeltaOff:
		err = s.deliver(ctx, body, source, m)
	}
	return outcomeOf(err), err
}

// source returns what is known of the profiles of a target. Its labels override its address.
func (s *scrape) source(j *job) pprof.Source {
	source := s.in.newSource()
	setFromTarget(source.Resource, j.url)
	for name, value := range j.labels {
		source.Resource.PutStr(label.ValidText(name), label.ValidText(value))
	}
	source.ProfileName = j.profile.Name
	return source
}
