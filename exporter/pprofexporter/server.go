// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	// expiryInterval is how often old profiles are looked for.
	expiryInterval = 10 * time.Second
	// shutdownWait is how long a shutdown waits for answers. A page that is being drawn cannot be interrupted: it ends by
	// itself, later.
	shutdownWait = 3 * time.Second
)

// serverDestination holds the most recent profiles and serves them.
type serverDestination struct {
	cfg       *ServerConfig
	settings  component.TelemetrySettings
	encoder   *pprof.Encoder
	telemetry *telemetry
	store     *recent.Store
	memory    memory
	pages     *pages
	// foreign says that pprofs may be such as others wrote.
	foreign bool

	http    *http.Server
	address net.Addr
	running sync.WaitGroup
	stop    context.CancelFunc
}

func newServerDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) *serverDestination {
	server := cfg.Server.Get()
	store := recent.New(recent.Limits{
		Memory:    server.MaxMemory,
		Age:       server.MaxAge,
		PerSeries: server.MaxProfilesPerSeries,
	}, telemetry.evicted)
	return &serverDestination{
		cfg:       server,
		settings:  set.TelemetrySettings,
		encoder:   pprof.NewEncoder(cfg.encodeOptions()),
		telemetry: telemetry,
		store:     store,
		foreign:   cfg.PreferOriginalPayload,
	}
}

// start listens. Requests are served from then on.
func (d *serverDestination) start(ctx context.Context, host component.Host) error { //nolint:contextcheck // what it starts outlives it
	if err := d.memory.start(host); err != nil {
		return err
	}
	d.pages = newPages(d.cfg, d.store, d.memory.budget)
	server, err := d.cfg.HTTP.ToServer(ctx, host.GetExtensions(), d.settings, d.pages.handler())
	if err != nil {
		return fmt.Errorf("cannot make the HTTP server: %w", err)
	}
	listener, err := d.cfg.HTTP.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("cannot listen at %s: %w", d.cfg.HTTP.NetAddr.Endpoint, err)
	}
	if err := d.telemetry.keeps(d.store); err != nil {
		return errors.Join(err, listener.Close())
	}
	d.http, d.address = server, listener.Addr()
	d.pages.hosts = allowedHosts(d.cfg, d.address)
	d.settings.Logger.Info("Profiles can be looked at.", zap.String("url", "http://"+d.address.String()+d.cfg.PathPrefix+"/"))
	running, stop := context.WithCancel(context.Background())
	d.stop = stop
	server.BaseContext = func(net.Listener) context.Context { return running }
	d.running.Go(func() { d.expire(running) })
	d.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// expire evicts what is too old, also while nothing comes.
func (d *serverDestination) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.store.Expire()
		}
	}
}

func (d *serverDestination) shutdown(ctx context.Context) error {
	d.telemetry.builder.Shutdown()
	if d.http == nil {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, shutdownWait)
	defer cancel()
	err := d.http.Shutdown(waiting)
	d.stop() // Requests end, but for what cannot be interrupted.
	if err != nil {
		err = d.http.Close()
	}
	d.running.Wait()
	return err
}

func (d *serverDestination) consume(ctx context.Context, pd pprofile.Profiles) error {
	tenant := d.cfg.Tenant.Default
	if d.cfg.Tenant.MetadataKey != "" {
		if values := client.FromContext(ctx).Metadata.Get(d.cfg.Tenant.MetadataKey); len(values) > 0 && values[0] != "" {
			tenant = values[0]
		}
	}
	// A repetition would hold profiles twice: a request that was begun is done to its end. One that found no memory for its
	// first profile comes again.
	ctx, claim := d.memory.claim(context.WithoutCancel(ctx))
	defer claim.release()
	begun := false
	payloads := d.encoder.AllReserving(pd, claim.reserve(ctx, claimEncoder))
	refusals, err := deliver(ctx, pd, payloads, func(payload pprof.Payload) error {
		err := d.hold(ctx, payload, tenant, claim.reserve(ctx, claimBody))
		if _, lost := errors.AsType[*refusal](err); err != nil && !lost && (begun || errors.Is(err, pprof.ErrTooLarge)) {
			err = &refusal{reason: refusedTooLarge, profiles: payload.Profiles, err: err}
		}
		begun = true
		return err
	})
	for _, r := range refusals {
		d.telemetry.refused(ctx, r)
	}
	return err
}

// hold takes one pprof into the store. What alone is larger than the store, or than what a request may merge, is lost.
func (d *serverDestination) hold(ctx context.Context, payload pprof.Payload, tenant string, reserve func(bytes int64) error) error {
	if size := int64(len(payload.Pprof)); size > d.cfg.MaxRequestSize {
		return &refusal{
			reason: refusedTooLarge, profiles: payload.Profiles,
			err: fmt.Errorf("cannot hold a profile of %d bytes, max_request_size is %d", size, d.cfg.MaxRequestSize),
		}
	}
	if err := reserve(holdCost * int64(len(payload.Pprof))); err != nil {
		return fmt.Errorf("cannot hold a profile: %w", err)
	}
	e, err := entryOf(&payload, tenant, time.Now())
	if err == nil && d.foreign {
		err = pprofmerge.Check(payload.Pprof, func(bytes int64) error {
			return reserve(holdCost*int64(len(payload.Pprof)) + bytes)
		})
	}
	if errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrTooLarge) {
		return fmt.Errorf("cannot hold a profile: %w", err)
	}
	if err != nil {
		return &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	if !d.store.Add(e) {
		return &refusal{
			reason: refusedTooLarge, profiles: payload.Profiles,
			err: fmt.Errorf("cannot hold a profile of %d compressed bytes, max_memory is %d", len(e.Compressed), d.cfg.MaxMemory),
		}
	}
	d.telemetry.kept(ctx, payload)
	return nil
}

// holdCost is how many times its size a profile takes while it is compressed and its head is read.
const holdCost = 3
