// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/url"
	"strconv"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

const (
	attributeServerAddress = "server.address"
	attributeServerPort    = "server.port"
)

// remote fetches one profile from one URL periodically.
type remote struct {
	*collector
	cfg    *RemoteConfig
	set    component.TelemetrySettings
	target *url.URL
	rounds *rounds
	client httpclient.Client
}

func newRemote(set receiver.Settings, cfg *RemoteConfig, in *intake) (*remote, error) {
	c, err := newCollector(set, in, nameRemote, "http")
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(cfg.HTTP.Endpoint)
	if err != nil {
		return nil, err
	}
	return &remote{collector: c, cfg: cfg, set: set.TelemetrySettings, target: target, rounds: newRounds()}, nil
}

// Start starts the schedule.
func (r *remote) Start(ctx context.Context, host component.Host) error {
	settings := r.cfg.HTTP
	if settings.Timeout == 0 {
		settings.Timeout = fetchTimeout + secondsOf(r.target)
	}
	var err error
	if r.client, err = httpclient.New(ctx, settings, host, r.set); err != nil {
		return err
	}
	from := &fetcher{client: r.client.Client, limit: r.cfg.MaxResponseSize}
	state := newHealth(host, r.log)
	r.rounds.start(r.cfg.Schedule, func(ctx context.Context) {
		err := r.round(ctx, from)
		if ctx.Err() == nil {
			r.metrics.fetched(ctx, outcomeOf(err))
			state.set(r.target.Redacted(), err)
		}
	})
	return nil
}

func (r *remote) round(ctx context.Context, from *fetcher) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := r.in.begin(ctx, 0, cancel)
	if err != nil {
		return err
	}
	defer m.end()
	body, err := from.get(ctx, r.target.String(), m)
	if err != nil {
		return err
	}
	source := r.in.newSource()
	setFromTarget(source.Resource, r.target)
	source.ProfileName = goProfileName(r.target.Path)
	return r.deliver(ctx, body, source, m)
}

// Shutdown stops the schedule and waits for a fetch in progress.
func (r *remote) Shutdown(ctx context.Context) error {
	err := r.rounds.stop(ctx)
	r.client.Close()
	return err
}

// setFromTarget sets the attributes that identify the server of the profiles.
func setFromTarget(resource pcommon.Map, target *url.URL) {
	resource.PutStr(attributeServerAddress, label.ValidText(target.Hostname()))
	if port, err := strconv.ParseInt(target.Port(), 10, 32); err == nil {
		resource.PutInt(attributeServerPort, port)
	}
}
